//! Masks the secrets of connection details in messages.

use serde_json::Value;

use super::{find, names, separate_headers};

/// The text that replaces a secret.
const MASK: &str = "***";

/// The length in bytes below which a secret is masked only as a whole string, because a short value also occurs in
/// unrelated words.
const MIN_MASKED_LENGTH: usize = 4;

/// Returns the message with the secrets of its connection details masked, so that it can be shown to people and
/// language models: all occurrences of the values of headers, tokens and environment variables, and any token
/// after `Bearer`.
pub fn masked(message: &Value) -> Value {
    masked_of(message, &secrets_in([message]))
}

/// Masks these secrets too, for example those of other messages.
pub(crate) fn masked_of(message: &Value, secrets: &[String]) -> Value {
    let mut shown = message.clone();
    mask(&mut shown, secrets);
    shown
}

/// Returns the secrets of the connection details in these messages.
pub(crate) fn secrets_in<'a>(messages: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let messages: Vec<_> = messages.into_iter().collect();
    let found = messages.iter().flat_map(|message| find(message));
    let details: Vec<_> = found.flatten().collect();
    let separate_headers = messages.iter().filter_map(|message| separate_headers(message));
    let separate_headers: Vec<_> =
        separate_headers.flat_map(std::collections::BTreeMap::into_values).collect();
    let values = details.iter().flat_map(|details| details.secrets());
    searched(values.chain(&separate_headers).map(|secret| secret.expose()))
}

/// Returns a text with these secrets and all bearer tokens masked.
pub(crate) fn masked_text(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret, MASK);
    }
    without_bearer(&text)
}

/// Returns the values to search for, longest first, so that masking a value leaves no rest of a longer one that
/// contains it.
pub(crate) fn searched<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut secrets: Vec<String> = values
        .into_iter()
        .map(|value| without_scheme(value).to_owned())
        .filter(|secret| secret.len() >= MIN_MASKED_LENGTH)
        .collect();
    secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// Returns a secret without the scheme of the header `Authorization`, which others may repeat without it.
fn without_scheme(value: &str) -> &str {
    let is_scheme =
        |word: &str| ["bearer", "basic"].iter().any(|one| word.eq_ignore_ascii_case(one));
    match value.split_once(' ') {
        Some((scheme, secret)) if is_scheme(scheme) => secret,
        Some(_) | None => value,
    }
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

/// Masks values by the names of their members, because details that cannot be read contain secrets too. Names are
/// kept.
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

/// Masks the word after each `Bearer` if it looks like a token.
fn without_bearer(text: &str) -> String {
    let mut parts = text.split("Bearer ");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    // The characters of RFC 6750's `b64token`.
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    for part in parts {
        let end = part.find(|c: char| !is_of_token(c)).unwrap_or(part.len());
        let token = if end == 0 { "" } else { MASK };
        masked.extend(["Bearer ", token, &part[end..]]);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_recognised_without_its_scheme() {
        for value in ["abc-123", "Bearer abc-123", "bearer abc-123", "Basic abc-123"] {
            assert_eq!(masked_text("what is abc-123?", &searched([value])), "what is ***?");
        }
    }
}
