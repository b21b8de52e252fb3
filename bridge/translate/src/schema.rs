//! Derives a JSON Schema from a value.
//!
//! Microsoft's hosting writes the schema of an entity's .NET class. No class is known here, so the schema is
//! derived from the value: it has the types of the members and does not say which are required.

use alloc::{string::String, vec::Vec};

use serde_json::{Value, json};

/// The depth of a schema. Below it any value is valid, which bounds the work on hostile values.
const DEPTH: usize = 8;

/// Returns a schema for which `value` is valid.
pub(crate) fn of(value: &Value) -> Value {
    below(value, DEPTH)
}

/// Returns the name of the type of `value` in JSON Schema.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn below(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => json!({}),
        Value::Array(items) => array(items, depth - 1),
        Value::Object(members) => {
            let property = |(name, value): (&String, _)| (name.clone(), below(value, depth - 1));
            let properties: Value = members.iter().map(property).collect();
            json!({"type": "object", "properties": properties})
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            json!({"type": type_of(value)})
        }
    }
}

/// Items with the same schema share it; otherwise each schema is listed once.
fn array(items: &[Value], depth: usize) -> Value {
    let mut schemas: Vec<Value> = Vec::new();
    for schema in items.iter().map(|item| below(item, depth)) {
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    match schemas.pop() {
        None => json!({"type": "array"}),
        Some(only) if schemas.is_empty() => json!({"type": "array", "items": only}),
        Some(last) => {
            schemas.push(last);
            json!({"type": "array", "items": {"anyOf": schemas}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_schema_names_the_members_and_their_types() {
        let value = json!({"a": 1, "b": [1.5, "x", "y"], "c": {"d": null, "e": []}, "f": true});
        assert_eq!(
            of(&value),
            json!({"type": "object", "properties": {
                "a": {"type": "integer"},
                "b": {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
                "c": {"type": "object", "properties": {
                    "d": {"type": "null"}, "e": {"type": "array"}}},
                "f": {"type": "boolean"},
            }})
        );
    }

    #[test]
    fn a_schema_ends_somewhere() {
        let deep = (0..100).fold(json!(7), |inner, _| json!([inner]));
        let schema = of(&deep).to_string();
        assert_eq!(schema.matches("array").count(), DEPTH);
    }
}
