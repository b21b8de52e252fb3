//! Reads members of a model's answer; errors name the member.

use bridge_protocol::wire::FieldError;
use serde_json::Value;

/// Returns the error that stands in an answer with the status 200, as gateways to other providers send it.
pub(super) fn no_error(answer: &Value) -> Result<(), FieldError> {
    match answer.get("error").filter(|error| error.is_object()) {
        Some(error) => {
            let found = error["message"].as_str().unwrap_or("an error");
            Err(FieldError::new("an answer", found).inside("error"))
        }
        None => Ok(()),
    }
}

pub(super) fn list<'a>(object: &'a Value, name: &str) -> Result<&'a Vec<Value>, FieldError> {
    let value = object.get(name);
    let found = value.and_then(Value::as_array);
    found.ok_or_else(|| unexpected("a list", value, name))
}

pub(super) fn member<'a>(object: &'a Value, name: &str) -> Result<&'a Value, FieldError> {
    let value = object.get(name);
    let found = value.filter(|value| value.is_object());
    found.ok_or_else(|| unexpected("an object", value, name))
}

pub(super) fn string(object: &Value, name: &str) -> Result<String, FieldError> {
    let value = object.get(name);
    let found = value.and_then(Value::as_str).map(str::to_owned);
    found.ok_or_else(|| unexpected("a string", value, name))
}

fn unexpected(expected: &str, value: Option<&Value>, name: &str) -> FieldError {
    let error = match value {
        Some(value) => FieldError::unexpected(expected, value),
        None => FieldError::new(expected, "nothing"),
    };
    error.inside(name)
}
