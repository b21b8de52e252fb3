//! Reads members of a model's answer; errors name the member.

use bridge_protocol::wire::FieldError;
use serde_json::Value;

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
