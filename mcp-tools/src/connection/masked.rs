//! Messages without the secrets of the connection details in them.

use serde_json::Value;

use super::{find, loose_headers, names};

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Shorter values are only masked where they stand by themselves: they would be found in words that have
/// nothing to do with them.
const SHORTEST: usize = 4;

/// The message without the secrets of the connection details in it, so that people and language models
/// can be shown it: the values of headers, tokens and environments, wherever they occur, and whatever follows
/// `Bearer`.
pub fn masked(message: &Value) -> Value {
    masked_of(message, &secrets_in([message]))
}

/// The message without these secrets too, such as those of all messages.
pub(crate) fn masked_of(message: &Value, secrets: &[String]) -> Value {
    let mut shown = message.clone();
    mask(&mut shown, secrets);
    shown
}

/// The secrets of the connection details in these messages.
pub(crate) fn secrets_in<'a>(messages: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let messages: Vec<_> = messages.into_iter().collect();
    let found = messages.iter().flat_map(|message| find(message));
    let details: Vec<_> = found.flatten().collect();
    let loose = messages.iter().filter_map(|message| loose_headers(message));
    let loose: Vec<_> = loose
        .flat_map(std::collections::BTreeMap::into_values)
        .collect();
    let values = details.iter().flat_map(|details| details.secrets());
    searched(values.chain(&loose).map(|secret| secret.expose()))
}

/// A text without these secrets and without bearer tokens.
pub(crate) fn masked_text(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret, MASK);
    }
    without_bearer(&text)
}

/// The values to look for, longest first, so that one inside another leaves nothing of it behind.
pub(crate) fn searched<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut secrets: Vec<String> = values
        .into_iter()
        .map(|value| value.strip_prefix("Bearer ").unwrap_or(value).to_owned())
        .filter(|secret| secret.len() >= SHORTEST)
        .collect();
    secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn mask(value: &mut Value, secrets: &[String]) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = masked_text(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, secrets)),
        Value::Object(members) => {
            for (name, value) in members {
                match name.as_str() {
                    "headers" | "env" => mask_values(value),
                    name if names::is_token(name) => mask_values(value),
                    _ => mask(value, secrets),
                }
            }
        }
    }
}

/// Masks by place, since details that cannot be read have secrets too. Names stay.
fn mask_values(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = MASK.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(mask_values),
        Value::Object(members) => {
            let is_named = members.contains_key("name") && members.contains_key("value");
            let values = members.iter_mut();
            let values = values.filter(|(name, _)| !(is_named && *name == "name"));
            values.for_each(|(_, value)| mask_values(value));
        }
    }
}

/// Whatever follows `Bearer` and looks like a token: it has no place in words.
fn without_bearer(text: &str) -> String {
    let mut parts = text.split("Bearer ");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !is_of_token(c)).unwrap_or(part.len());
        let token = if end == 0 { "" } else { MASK };
        masked.extend(["Bearer ", token, &part[end..]]);
    }
    masked
}

/// The characters of RFC 6750's `b64token`.
fn is_of_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~+/=".contains(c)
}
