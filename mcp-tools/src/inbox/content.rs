//! Reads the content of a message.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::Kind;
use crate::connection;

/// The paths at which an A2A message, status, artifact or task has its parts; the steps may lead through lists.
const PARTS: [&str; 4] = ["/parts", "/message/parts", "/status/message/parts", "/artifact/parts"];

/// Returns the id of a message, or of the message in a status.
pub(super) fn message_id(message: &Value) -> Option<String> {
    let places = ["/messageId", "/message/messageId", "/status/message/messageId"];
    let mut ids = places.iter().filter_map(|place| message.pointer(place));
    ids.find_map(Value::as_str).map(str::to_owned)
}

/// Makes data of the files of JSON in a message: some frameworks have no other way to send data.
pub(super) fn read_json_files(message: &mut Value) {
    for_each_part(message, |part| {
        if let Some(data) = json_file(part) {
            part.remove("raw");
            part.insert("data".to_owned(), data);
        }
    });
}

/// Changes each part of an A2A message, status, artifact or task.
pub fn for_each_part(message: &mut Value, mut change: impl FnMut(&mut Map<String, Value>)) {
    let mut change_all = |parts: Option<&mut Value>| {
        let parts = parts.and_then(Value::as_array_mut).into_iter().flatten();
        parts.filter_map(Value::as_object_mut).for_each(&mut change);
    };
    for place in PARTS {
        change_all(message.pointer_mut(place));
    }
    let artifacts = message.get_mut("artifacts").and_then(Value::as_array_mut);
    for artifact in artifacts.into_iter().flatten() {
        change_all(artifact.get_mut("parts"));
    }
}

/// Returns the content of a file part, if it is JSON.
fn json_file(part: &Map<String, Value>) -> Option<Value> {
    let media_type = part.get("mediaType")?.as_str()?;
    let (media_type, _) = media_type.split_once(';').unwrap_or((media_type, ""));
    if media_type.trim() != "application/json" {
        return None;
    }
    let bytes = STANDARD.decode(part.get("raw")?.as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns the kinds of content in a message, at least one.
pub(super) fn kinds(message: &Value) -> BTreeSet<Kind> {
    let data = objects(message);
    let holds = |names: &[&str]| {
        let mut data = data.iter();
        data.any(|object| names.iter().any(|name| object.contains_key(*name)))
    };
    let kinds: BTreeSet<Kind> = [
        (Kind::TaskInfo, holds(&["goal", "task_id", "benchmark"])),
        (Kind::McpDetails, !connection::find(message).is_empty()),
        (Kind::Result, holds(&["score", "reward"])),
        (Kind::Text, !texts(message).is_empty()),
    ]
    .into_iter()
    .filter_map(|(kind, is_it)| is_it.then_some(kind))
    .collect();
    if kinds.is_empty() { BTreeSet::from([Kind::Other]) } else { kinds }
}

/// Returns the texts in a message's parts, or the message itself if it is a string.
pub fn texts(message: &Value) -> Vec<&str> {
    let parts = parts(message).filter_map(|part| part.get("text")?.as_str());
    let texts = message.as_str().into_iter().chain(parts);
    texts.filter(|text| !text.trim().is_empty()).collect()
}

/// Returns the objects in a message's data parts; a message that is not an A2A message counts as such an object
/// itself.
pub(super) fn objects(message: &Value) -> Vec<&Map<String, Value>> {
    let mut objects: Vec<_> =
        parts(message).filter_map(|part| part.get("data")?.as_object()).collect();
    if parts(message).next().is_none() {
        objects.extend(message.as_object());
    }
    objects
}

/// Returns the parts of an A2A message, status, artifact or task.
pub fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    let of_artifacts = list(message, "/artifacts").flat_map(|artifact| list(artifact, "/parts"));
    let parts = PARTS.iter().flat_map(|place| list(message, place));
    parts.chain(of_artifacts)
}

fn list<'a>(value: &'a Value, place: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let list = value.pointer(place).and_then(Value::as_array);
    list.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_of_messages() {
        let details = json!({"mcp_connection_details": {"url": "http://localhost/"}});
        let data = |data: Value| json!({"parts": [{"data": data}]});
        for (message, expected) in [
            (data(json!({"task_id": "t", "benchmark": "b", "goal": "g"})), &[Kind::TaskInfo][..]),
            (data(details.clone()), &[Kind::McpDetails]),
            (data(json!({"mcp_connection_details": 7})), &[Kind::McpDetails]),
            (details.clone(), &[Kind::McpDetails]),
            (
                json!({"parts": [{"text": "go"}, {"data": {"goal": "g"}}, {"data": details}]}),
                &[Kind::TaskInfo, Kind::McpDetails, Kind::Text],
            ),
            (json!({"artifact": {"parts": [{"data": {"score": 1.0}}]}}), &[Kind::Result]),
            (json!({"artifacts": [{"parts": [{"data": {"reward": 0}}]}]}), &[Kind::Result]),
            (json!({"status": {"message": {"parts": [{"text": "hello"}]}}}), &[Kind::Text]),
            (json!("hello"), &[Kind::Text]),
            (json!({"parts": [{"text": " "}]}), &[Kind::Other]),
            (json!(null), &[Kind::Other]),
        ] {
            assert_eq!(kinds(&message), expected.iter().copied().collect(), "{message}");
        }
    }

    #[test]
    fn a_file_of_json_is_data() {
        let file = |media_type: &str, content: &str| json!({"mediaType": media_type, "raw": STANDARD.encode(content)});
        let part = file("application/json; charset=utf-8", r#"{"url": "http://localhost/"}"#);
        let read = json!({"mediaType": "application/json; charset=utf-8", "data": {"url": "http://localhost/"}});
        for (wrap, other) in [
            (json!({"parts": [part]}), json!({"parts": [read]})),
            (
                json!({"status": {"message": {"parts": [part]}}}),
                json!({"status": {"message": {"parts": [read]}}}),
            ),
            (json!({"artifacts": [{"parts": [part]}]}), json!({"artifacts": [{"parts": [read]}]})),
        ] {
            let mut message = wrap;
            read_json_files(&mut message);
            assert_eq!(message, other);
        }
        for other in [
            file("text/plain", "{}"),
            file("application/json", "no json"),
            json!({"mediaType": "application/json", "raw": "*"}),
        ] {
            let mut message = json!({"parts": [other]});
            read_json_files(&mut message);
            assert_eq!(message, json!({"parts": [other]}));
        }
    }

    #[test]
    fn ids_of_messages() {
        for message in [
            json!({"messageId": "m"}),
            json!({"message": {"messageId": "m"}}),
            json!({"taskId": "t", "status": {"message": {"messageId": "m"}}}),
        ] {
            assert_eq!(message_id(&message).as_deref(), Some("m"));
        }
        assert_eq!(message_id(&json!({"id": "t"})), None);
    }
}
