//! Keeps service URLs, which are secrets between channel and bot, out of what clients see.

use bridge_protocol::a2a::Metadata;
use serde_json::Value;

/// Removes members whose value is the service URL, at any depth: conversation references and traces contain
/// it too.
pub(super) fn without_secret(fields: &mut Metadata, service_url: &str) {
    fields.retain(|_, value| value.as_str() != Some(service_url));
    fields.values_mut().for_each(|value| hide(value, service_url));
}

fn hide(value: &mut Value, service_url: &str) {
    match value {
        Value::Object(members) => without_secret(members, service_url),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, service_url)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
