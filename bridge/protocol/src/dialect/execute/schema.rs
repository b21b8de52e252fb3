//! Finds the JSON Schemas of skills, under every name in use, and checks values against them.
//!
//! The specification has no field for schemas. Cards that have them use `parameters`, `input_schema` and
//! similar members beside a skill's own fields.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::a2a::AgentSkill;

/// The names of the schema of parameters.
const INPUT: [&str; 6] = [
    "input_schema",
    "inputSchema",
    "parameters",
    "parameters_schema",
    "parametersSchema",
    "params_schema",
];

/// The names of the schema of results.
const OUTPUT: [&str; 2] = ["output_schema", "outputSchema"];

/// The number of violations in an error.
const TOLD: usize = 5;

/// The schema of a skill's parameters, if its card has one.
pub fn input_of(skill: &AgentSkill) -> Option<&Value> {
    first(skill, &INPUT)
}

/// The schema of a skill's result, if its card has one.
pub fn output_of(skill: &AgentSkill) -> Option<&Value> {
    first(skill, &OUTPUT)
}

/// Whether a skill has a schema for parameters or result.
pub fn is_typed(skill: &AgentSkill) -> bool {
    input_of(skill).is_some() || output_of(skill).is_some()
}

/// Removes the schemas, which the specification has no field for.
pub fn untyped(skill: &mut AgentSkill) {
    for name in INPUT.iter().chain(&OUTPUT) {
        skill.extra.remove(*name);
    }
}

fn first<'a>(skill: &'a AgentSkill, names: &[&str]) -> Option<&'a Value> {
    let found = names.iter().filter_map(|name| skill.extra.get(*name));
    found.into_iter().find(|schema| schema.is_object())
}

/// The reason why a value does not match a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The value violates the schema.
    #[error("{}", .0.join("; "))]
    Violated(Vec<String>),
    /// The schema in the card is invalid, so that no value matches.
    #[error("the card's schema is not valid: {0}")]
    Schema(String),
}

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
    let violations = validator.iter_errors(value).take(TOLD);
    let violations: Vec<String> = violations.map(|error| tell(&error)).collect();
    match violations.is_empty() {
        true => Ok(()),
        false => Err(SchemaError::Violated(violations)),
    }
}

/// Describes a violation and its location.
fn tell(error: &jsonschema::ValidationError<'_>) -> String {
    let what = match missing(error) {
        Some(name) => format!("missing required field '{name}'"),
        None => error.to_string(),
    };
    match error.instance_path().as_str() {
        "" => what,
        place => format!("{place}: {what}"),
    }
}

/// The missing field, if the violation is that.
fn missing<'a>(error: &'a jsonschema::ValidationError<'_>) -> Option<&'a str> {
    match error.kind() {
        ValidationErrorKind::Required { property } => property.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire as _;
    use serde_json::json;

    #[test]
    fn schemas_are_found_under_every_name() {
        for name in INPUT {
            let skill = json!({"id": "s", name: {"type": "object"}, "output_schema": {}});
            let skill = AgentSkill::read(skill).unwrap();
            assert_eq!(input_of(&skill), Some(&json!({"type": "object"})), "{name}");
            assert_eq!(output_of(&skill), Some(&json!({})));
            let mut plain = skill.clone();
            untyped(&mut plain);
            assert!(is_typed(&skill) && !is_typed(&plain) && plain.extra.is_empty());
        }
        let none = AgentSkill::read(json!({"id": "s", "parameters": ["age"]})).unwrap();
        assert_eq!(input_of(&none), None);
    }

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
            (
                json!({"age": "ten"}),
                "/age: \"ten\" is not of type \"integer\"",
            ),
            (
                json!({"age": 1, "team": {}}),
                "/team: missing required field 'name'",
            ),
        ] {
            let error =
                check(Some(&schema), &value).map_or_else(|e| e.to_string(), |()| String::new());
            assert_eq!(error, told);
        }
        assert_eq!(check(None, &json!(7)), Ok(()));
    }

    #[test]
    fn a_schema_that_is_none_is_told_and_references_are_not_followed() {
        for schema in [
            json!({"type": 7}),
            json!({"$ref": "http://127.0.0.1:1/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
        ] {
            let error = check(Some(&schema), &json!({})).unwrap_err();
            assert!(matches!(error, SchemaError::Schema(_)), "{error}");
        }
    }
}
