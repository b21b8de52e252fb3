//! Headers in a separate message: some agents send a URL first, and its credentials in a second message.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{names, read, sentence, text};
use crate::secret::Secret;

/// The nesting depth below which nothing is searched.
const MAX_DEPTH: usize = 16;

/// Returns the last headers in a message that are not part of connection details: `{"headers": {..}}`,
/// `{"token": ..}`, or `Authorization: Bearer ..` in a text without a URL.
pub fn separate_headers(message: &Value) -> Option<BTreeMap<String, Secret>> {
    inside(message, MAX_DEPTH)
}

fn inside(value: &Value, depth: usize) -> Option<BTreeMap<String, Secret>> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::String(words) => in_text(words, depth),
        Value::Array(items) => items.iter().rev().find_map(|item| inside(item, depth)),
        Value::Object(members) if read::has_address(members) => None,
        Value::Object(members) => headers(members).or_else(|| {
            let mut values = members.values().rev();
            values.find_map(|value| inside(value, depth))
        }),
    }
}

fn in_text(words: &str, depth: usize) -> Option<BTreeMap<String, Secret>> {
    let pieces = text::json_in(words);
    let of_json = pieces.iter().rev().find_map(|(_, value)| inside(value, depth));
    of_json.or_else(|| match words.contains("://") {
        true => None,
        false => sentence::headers(words),
    })
}

fn headers(members: &Map<String, Value>) -> Option<BTreeMap<String, Secret>> {
    let headers = members.get("headers").map(read::named_secrets);
    let mut headers = headers.and_then(Result::ok).unwrap_or_default();
    if let Some((_, token)) = names::token(members) {
        read::add_token(&mut headers, token);
    }
    (!headers.is_empty()).then_some(headers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_on_separate_lines() {
        let value = |message| {
            let headers = separate_headers(&message)?;
            headers.get("Authorization").map(|value| value.expose().to_owned())
        };
        let part = |data: Value| json!({"parts": [{"data": data}]});
        for message in [
            part(json!({"headers": {"Authorization": "Bearer tok-1"}})),
            part(json!({"headers": [{"name": "Authorization", "value": "Bearer tok-1"}]})),
            part(json!({"token": "tok-1"})),
            part(json!({"authorization": "Bearer tok-1"})),
            json!({"parts": [{"text": "Authorization: Bearer tok-1"}]}),
            json!({"parts": [{"text": "Send {\"headers\": {\"Authorization\": \"Bearer tok-1\"}} too"}]}),
        ] {
            assert_eq!(value(message.clone()).as_deref(), Some("Bearer tok-1"), "{message}");
        }
        for message in [
            part(json!({"url": "http://a/", "headers": {"Authorization": "Bearer tok-1"}})),
            json!({"parts": [{"text": "a bearer token follows"}]}),
            json!(null),
        ] {
            assert_eq!(value(message.clone()), None, "{message}");
        }
    }
}
