//! Counts how often schemas are applied to a value. With references that double at each step, a small schema can
//! need more time than anyone has.

use referencing::{Draft, Error, Registry, Resolver, uri};
use serde_json::{Map, Value};

/// The largest number of applications to a small value. They take a part of a second.
const MOST: usize = 1_000_000;

/// The number of further applications for each value in a large one.
const EACH: usize = 16;

/// The largest number of applications inside each other. Bodies are nested at most 128 deep, and each level takes a few.
const DEEPEST: usize = 512;

/// Where the schema is in its own registry.
const BASE: &str = "json-schema:///";

/// Returns whether the schema can be applied to the value within the limits. Every branch counts, because all are
/// tried for a value that matches none.
pub(super) fn is_bounded(schema: &Value, value: &Value) -> Result<bool, Error> {
    is_within(MOST.saturating_add(EACH.saturating_mul(size(value))), schema, value)
}

/// Returns the number of values in a value.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

fn is_within(most: usize, schema: &Value, value: &Value) -> Result<bool, Error> {
    let draft = Draft::default().detect(schema);
    let root = draft.create_resource_ref(schema);
    let registry = Registry::new().draft(draft).add(BASE, root)?.prepare()?;
    let resolver = registry.resolver(uri::from_str(BASE)?).in_subresource(root)?;
    let mut count = Count { draft, left: most };
    count.apply(schema, &resolver, value, DEEPEST)
}

struct Count {
    draft: Draft,
    left: usize,
}

impl Count {
    fn apply(
        &mut self,
        schema: &Value,
        resolver: &Resolver<'_>,
        value: &Value,
        depth: usize,
    ) -> Result<bool, Error> {
        let (Some(left), Some(depth)) = (self.left.checked_sub(1), depth.checked_sub(1)) else {
            return Ok(false);
        };
        self.left = left;
        let Value::Object(keywords) = schema else {
            return Ok(true);
        };
        for round in 0..rounds(keywords) {
            for (name, keyword) in keywords {
                let target = match (name.as_str(), keyword) {
                    ("$ref" | "$dynamicRef", Value::String(to)) => Some(resolver.lookup(to)?),
                    ("$recursiveRef", _) => Some(resolver.lookup_recursive_ref()?),
                    _ => None,
                };
                if let Some(target) = target {
                    if !self.apply(target.contents(), target.resolver(), value, depth)? {
                        return Ok(false);
                    }
                    continue;
                }
                for (inner, part) in applied(keywords, name, keyword, value) {
                    if round > 0 && !std::ptr::eq(part, value) {
                        continue;
                    }
                    let resolver =
                        resolver.in_subresource(self.draft.create_resource_ref(inner))?;
                    if !self.apply(inner, &resolver, part, depth)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// Returns how often the schemas for the same value are applied. To find the members that none of them has checked, the
/// validator applies them up to two more times.
fn rounds(keywords: &Map<String, Value>) -> usize {
    let unevaluated = ["unevaluatedProperties", "unevaluatedItems"];
    if unevaluated.iter().any(|name| keywords.contains_key(*name)) { 3 } else { 1 }
}

/// The schemas of a keyword, each with the value to which it is applied.
type Applied<'a> = Box<dyn Iterator<Item = (&'a Value, &'a Value)> + 'a>;

/// Returns what a keyword applies.
fn applied<'a>(
    keywords: &'a Map<String, Value>,
    name: &str,
    keyword: &'a Value,
    value: &'a Value,
) -> Applied<'a> {
    let schemas = || keyword.as_array().into_iter().flatten();
    let named = || keyword.as_object().into_iter().flatten();
    let members = || value.as_object().into_iter().flatten();
    let elements = || value.as_array().into_iter().flatten();
    match name {
        "allOf" | "anyOf" | "oneOf" => Box::new(schemas().map(move |inner| (inner, value))),
        "not" | "if" | "then" | "else" => Box::new(std::iter::once((keyword, value))),
        "dependentSchemas" | "dependencies" => {
            Box::new(named().map(move |(_, inner)| (inner, value)))
        }
        "properties" => {
            Box::new(named().filter_map(|(name, inner)| Some((inner, value.get(name)?))))
        }
        "patternProperties" => Box::new(
            named().flat_map(move |(_, inner)| members().map(move |(_, member)| (inner, member))),
        ),
        "additionalProperties" | "unevaluatedProperties" => {
            let known = keywords.get("properties");
            let is_other = move |name: &String| known.and_then(|known| known.get(name)).is_none();
            let others = members().filter(move |(name, _)| is_other(name));
            Box::new(others.map(move |(_, member)| (keyword, member)))
        }
        // A name is a text, to which no schema of members or elements applies.
        "propertyNames" => Box::new(members().map(move |_| (keyword, &Value::Null))),
        "prefixItems" => Box::new(schemas().zip(elements())),
        "items" if keyword.is_array() => Box::new(schemas().zip(elements())),
        "items" | "additionalItems" | "contains" | "unevaluatedItems" => {
            Box::new(elements().map(move |element| (keyword, element)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_few(schema: &Value, value: &Value) -> bool {
        is_within(10_000, schema, value).unwrap()
    }

    /// A chain of definitions, each of which refers to the next one twice.
    fn doubled(steps: usize, keyword: &str) -> Value {
        let mut definitions = json!({format!("d{steps}"): {"type": "object"}});
        for step in 0..steps {
            let next = json!({"$ref": format!("#/$defs/d{}", step + 1)});
            definitions[format!("d{step}")] = json!({keyword: [next, next]});
        }
        json!({"$defs": definitions, "$ref": "#/$defs/d0"})
    }

    #[test]
    fn doubled_references_are_counted() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for (steps, expected) in [(10, true), (40, false), (1_000, false)] {
                assert_eq!(is_few(&doubled(steps, keyword), &json!({})), expected);
            }
        }
        for (steps, expected) in [(5, true), (20, false)] {
            let mut schema = doubled(steps, "allOf");
            for step in 0..steps {
                let definition = &mut schema["$defs"][format!("d{step}")];
                definition["allOf"].as_array_mut().unwrap().pop();
                definition["unevaluatedProperties"] = json!({"type": "string"});
            }
            assert_eq!(is_few(&schema, &json!({})), expected);
        }
        let endless =
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
        assert!(!is_few(&endless, &json!({})));
    }

    #[test]
    fn a_recursive_schema_is_counted_over_the_value() {
        let twice = json!({"properties": {"in": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let anchors = json!({"$id": "http://a.test/b", "$anchor": "x", "properties": {"in":
            {"$id": "c", "allOf": [{"$ref": "b#x"}, {"$dynamicRef": "http://a.test/b"}]}}});
        let folders = json!({"$id": "http://a.test/", "$ref": "d/", "$defs": {"d": {"$id": "d/",
            "properties": {"in": {"allOf": [{"$ref": ""}, {"$ref": "#"}, {"$ref": "../d/"}]}}}}});
        let old = json!({"$schema": "https://json-schema.org/draft/2019-09/schema",
            "properties": {"in": {"anyOf": [{"$recursiveRef": "#"}, {"$ref": "#"}]}}});
        let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "in": inner }));
        for schema in [twice, anchors, folders, old] {
            assert!(is_few(&schema, &nested(5)), "{schema}");
            assert!(!is_few(&schema, &nested(60)), "{schema}");
        }
    }

    #[test]
    fn a_tree_of_expressions_is_allowed() {
        let pair = |operator: &str| {
            json!({"type": "object", "required": ["op", "left", "right"], "properties":
                {"op": {"const": operator}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}})
        };
        let schema = json!({"anyOf": [{"type": "number"}, pair("add"), pair("sub"), pair("mul"), pair("div")]});
        let tree = |depth| {
            let node = |inner| json!({"op": "div", "left": inner, "right": inner});
            (0..depth).fold(json!(1), |inner, _| node(inner))
        };
        assert!(is_bounded(&schema, &tree(5)).unwrap());
        let list = json!({"type": "array", "items": {"$ref": "#"}});
        let nested = (0..120).fold(json!([]), |inner, _| json!([inner]));
        assert!(is_few(&list, &nested));
    }
}
