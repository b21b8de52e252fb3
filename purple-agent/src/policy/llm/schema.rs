//! Schemas of tools in the form that the APIs of models accept. MCP allows more.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The members that OpenAI and Anthropic reject at the top of a schema.
const REJECTED: [&str; 10] =
    ["anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref"];

/// How deep alternatives of alternatives are followed; a reference may lead to itself.
const MAX_DEPTH: u8 = 4;

/// How many alternatives are followed: with references to itself, a small schema has billions.
const MAX_ALTERNATIVES: usize = 1000;

/// A schema that is accepted, and what it does not say.
#[derive(Debug, PartialEq)]
pub(super) struct Accepted {
    /// A schema of the type `object`.
    pub(super) parameters: Value,
    /// The members that were removed; the model is told them as text.
    pub(super) removed: JsonObject,
}

/// Moves the properties of alternatives to the top of a schema, and removes what is rejected there.
pub(super) fn accepted(schema: &JsonObject) -> Accepted {
    let root = Value::Object(schema.clone());
    let (mut kept, mut removed) = (JsonObject::new(), JsonObject::new());
    for (name, value) in schema {
        let side = if REJECTED.contains(&name.as_str()) { &mut removed } else { &mut kept };
        side.insert(name.clone(), value.clone());
    }
    kept.insert("type".to_owned(), json!("object"));
    let properties = kept.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        let mut further = JsonObject::new();
        collect(&root, &root, MAX_DEPTH, &mut 0, &mut further);
        for (name, alternatives) in further {
            properties.entry(name).or_insert_with(|| any_of(alternatives));
        }
    }
    Accepted { parameters: Value::Object(kept), removed }
}

/// Collects the properties of all alternatives: for each name a list of its different schemas.
fn collect(root: &Value, schema: &Value, depth: u8, followed: &mut usize, found: &mut JsonObject) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let lists = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema[name].as_array());
    let single = ["then", "else"].iter().filter_map(|name| schema.get(name));
    let target = schema["$ref"].as_str().and_then(|place| root.pointer(place.strip_prefix('#')?));
    for alternative in lists.flatten().chain(single).chain(target) {
        if *followed == MAX_ALTERNATIVES {
            return;
        }
        *followed += 1;
        for (name, property) in alternative["properties"].as_object().into_iter().flatten() {
            let known = found.entry(name.clone()).or_insert_with(|| json!([]));
            if let Value::Array(known) = known
                && !known.contains(property)
            {
                known.push(property.clone());
            }
        }
        collect(root, alternative, depth, followed, found);
    }
}

fn any_of(alternatives: Value) -> Value {
    match alternatives {
        Value::Array(mut one) if one.len() == 1 => one.remove(0),
        several => json!({ "anyOf": several }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: &Value) -> Accepted {
        accepted(schema.as_object().unwrap())
    }

    #[test]
    fn the_properties_of_alternatives_move_to_the_top() {
        let schema = json!({
            "type": "object",
            "$defs": {"file": {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}}}},
            "oneOf": [
                {"properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["url"]},
                {"$ref": "#/$defs/file"},
            ],
        });
        let Accepted { parameters, removed } = of(&schema);
        let properties = json!({
            "kind": {"anyOf": [{"const": "url"}, {"const": "file"}]},
            "url": {"type": "string"},
            "path": {"type": "string"},
        });
        assert_eq!(
            parameters,
            json!({"type": "object", "$defs": schema["$defs"], "properties": properties})
        );
        assert_eq!(json!(removed), json!({"oneOf": schema["oneOf"]}));
    }

    #[test]
    fn alternatives_that_lead_to_themselves_are_followed_a_limited_number_of_times() {
        let alternatives =
            (0..1000).map(|n| json!({"$ref": "#", "properties": {"a": {"const": n}}}));
        let schema = json!({"type": "object", "anyOf": alternatives.collect::<Value>()});
        let kinds = of(&schema).parameters["properties"]["a"]["anyOf"].as_array().unwrap().len();
        assert!((1..=1000).contains(&kinds), "{kinds}");
    }

    #[test]
    fn a_schema_that_is_accepted_stays_as_it_is() {
        let schema = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}]}}, "required": ["a"]});
        assert_eq!(of(&schema), Accepted { parameters: schema, removed: JsonObject::new() });
        let empty = json!({"type": "object", "properties": {}});
        assert_eq!(of(&json!({})).parameters, empty);
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let schema =
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
        assert_eq!(of(&schema).parameters["properties"], json!({}));
    }
}
