//! Fills in the placeholders `${config.PATH}` of an Amber manifest with the defaults of its `config_schema`.

use serde_json::{Map, Value};

use crate::fill::as_text;

/// What a placeholder begins with. It ends with a brace.
const PLACEHOLDER: &str = "${config.";

/// Returns the config with all placeholders filled in. A member whose value is not required and has no default is left out, as
/// Amber does.
///
/// # Errors
/// The path of a required value without a default: Amber asks for it, and nothing here does.
pub(super) fn filled(
    config: &Map<String, Value>,
    schema: &Value,
) -> Result<Map<String, Value>, String> {
    let mut filled = Map::new();
    for (name, value) in config {
        if let Some(value) = value_filled(value, schema)? {
            filled.insert(name.clone(), value);
        }
    }
    Ok(filled)
}

fn value_filled(value: &Value, schema: &Value) -> Result<Option<Value>, String> {
    Ok(Some(match value {
        Value::String(text) => return text_filled(text, schema),
        Value::Object(members) => Value::Object(filled(members, schema)?),
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| value_filled(item, schema).transpose());
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }))
}

/// Fills in a text. One that is a placeholder and nothing else becomes the value, whatever its type.
fn text_filled(text: &str, schema: &Value) -> Result<Option<Value>, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(PLACEHOLDER)
        && let Some((path, behind)) = behind.split_once('}')
    {
        let default = default(schema, path)?;
        if before.is_empty() && behind.is_empty() && filled.is_empty() {
            return Ok(default);
        }
        filled.push_str(before);
        filled.push_str(&default.as_ref().map(as_text).unwrap_or_default());
        rest = behind;
    }
    Ok(Some(Value::String(filled + rest)))
}

/// Returns the default of the property with this path. The error is the path of a required one without a default.
fn default(schema: &Value, path: &str) -> Result<Option<Value>, String> {
    let (mut schema, mut is_required) = (schema, true);
    for name in path.split('.') {
        let mut required = schema["required"].as_array().into_iter().flatten();
        is_required &= required.any(|one| one == name);
        schema = &schema["properties"][name];
    }
    match schema.get("default") {
        None if is_required => Err(path.to_owned()),
        default => Ok(default.cloned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_become_the_defaults_of_the_schema() {
        let schema = json!({
            "properties": {
                "domain": {"type": "string", "default": "airline"},
                "tasks": {"type": "integer", "default": 3},
                "seed": {"type": "integer"},
                "model": {"properties": {"name": {"type": "string", "default": "m"}}},
                "key": {"type": "string"},
            },
            "required": ["key"],
        });
        for (given, expected) in [
            (json!({"a": "${config.domain}", "b": 1}), Ok(json!({"a": "airline", "b": 1}))),
            (json!({"a": "${config.tasks}"}), Ok(json!({"a": 3}))),
            (json!({"a": "${config.seed}", "b": ["${config.seed}"]}), Ok(json!({"b": []}))),
            (json!({"a": {"b": ["${config.model.name}"]}}), Ok(json!({"a": {"b": ["m"]}}))),
            (
                json!({"a": "${config.domain}-${config.tasks}/${config.seed}."}),
                Ok(json!({"a": "airline-3/."})),
            ),
            (
                json!({"a": "${bindings.x.url} ${config."}),
                Ok(json!({"a": "${bindings.x.url} ${config."})),
            ),
            (json!({"a": ["${config.key}"]}), Err("key".to_owned())),
            (json!({"a": "${config.other}"}), Ok(json!({}))),
        ] {
            let filled = filled(given.as_object().unwrap(), &schema).map(Value::Object);
            assert_eq!(filled, expected, "{given}");
        }
    }
}
