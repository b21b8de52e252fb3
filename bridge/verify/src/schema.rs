//! Checks values against the JSON Schemas of skills, which
//! [`bridge_protocol::dialect::skill::schema`] finds in cards.

mod cost;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

/// The number of violations in an error.
const TOLD: usize = 5;

/// The largest number of characters of a violation.
const LONGEST: usize = 400;

/// The reason why a value does not match a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The value violates the schema.
    #[error("{}", .0.join("; "))]
    Violated(Vec<String>),
    /// The schema in the card is invalid, or its check would take too long, so that no value matches.
    #[error("the card's schema cannot be used: {0}")]
    Schema(String),
}

/// The reason why a schema is refused whose check would take too long.
const ENDLESS: &str =
    "its references multiply, so that the check of this value would not end in time";

/// Checks a value against a schema; without one every value matches. References to other documents are not
/// followed.
///
/// # Errors
/// [`SchemaError`], with the first few violations.
pub fn check(schema: Option<&Value>, value: &Value) -> Result<(), SchemaError> {
    let Some(schema) = schema else {
        return Ok(());
    };
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| SchemaError::Schema(error.to_string()))?;
    match cost::is_bounded(schema, value) {
        Ok(true) => {}
        Ok(false) => return Err(SchemaError::Schema(ENDLESS.to_owned())),
        Err(error) => return Err(SchemaError::Schema(error.to_string())),
    }
    let violations = validator.iter_errors(value).take(TOLD);
    let violations: Vec<String> = violations.map(|error| describe(&error)).collect();
    match violations.is_empty() {
        true => Ok(()),
        false => Err(SchemaError::Violated(violations)),
    }
}

/// Describes a violation and its location. A value may be as large as a body, so a large one is not repeated.
fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let what = match missing(error) {
        Some(name) => format!("missing required field '{name}'"),
        None => Some(error.to_string())
            .filter(|text| text.len() <= LONGEST)
            .unwrap_or_else(|| error.masked().to_string()),
    };
    let text = match error.instance_path().as_str() {
        "" => what,
        place => format!("{place}: {what}"),
    };
    text.chars().take(LONGEST).collect()
}

/// Returns the missing field, if the violation is that.
fn missing<'a>(error: &'a jsonschema::ValidationError<'_>) -> Option<&'a str> {
    match error.kind() {
        ValidationErrorKind::Required { property } => property.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::{
        dialect::{
            card,
            execute::ExecuteError,
            skill::schema::{input_of, output_of},
        },
        wire::to_value,
    };
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn violations_name_the_field() {
        let schema = json!({
            "type": "object",
            "properties": {
                "age": {"type": "integer"},
                "team": {"type": "object", "required": ["name"]},
            },
            "required": ["age"],
        });
        for (value, told) in [
            (json!({"age": 10}), ""),
            (json!({}), "missing required field 'age'"),
            (json!({"age": "ten"}), "/age: \"ten\" is not of type \"integer\""),
            (json!({"age": 1, "team": {}}), "/team: missing required field 'name'"),
            (json!({"age": "x".repeat(LONGEST)}), "/age: value is not of type \"integer\""),
        ] {
            let error =
                check(Some(&schema), &value).map_or_else(|e| e.to_string(), |()| String::new());
            assert_eq!(error, told);
        }
        assert_eq!(check(None, &json!(7)), Ok(()));
    }

    #[test]
    fn an_invalid_schema_is_reported_and_references_are_not_followed() {
        for schema in [
            json!({"type": 7}),
            json!({"$ref": "http://127.0.0.1:1/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
        ] {
            let error = check(Some(&schema), &json!({})).unwrap_err();
            assert!(matches!(error, SchemaError::Schema(_)), "{error}");
        }
    }

    #[test]
    fn a_schema_that_doubles_at_each_step_is_refused() {
        let mut definitions = json!({"d64": {"type": "object"}});
        for step in 0..64 {
            let next = json!({"$ref": format!("#/$defs/d{}", step + 1)});
            definitions[format!("d{step}")] = json!({"allOf": [next, next]});
        }
        let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        let error = check(Some(&schema), &json!(7)).unwrap_err();
        assert_eq!(error.to_string(), format!("the card's schema cannot be used: {ENDLESS}"));
    }

    fn document(name: &str) -> Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/wire/execute");
        let text = std::fs::read(Path::new(folder).join(name)).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn the_documents_calls_fit_the_documents_schemas() {
        let (agent, _) = card::read(document("plan-card.json")).unwrap();
        let skill = &agent.skills[0];
        assert_eq!(check(input_of(skill), &document("request.json")["params"]), Ok(()));
        assert_eq!(check(output_of(skill), &document("reply.json")["result"]), Ok(()));
        let error = check(input_of(skill), &json!({})).unwrap_err();
        let told = ExecuteError::InvalidParameters(error.to_string()).to_rpc();
        assert_eq!(to_value(&told), document("error-invalid-parameters.json")["error"]);
    }
}
