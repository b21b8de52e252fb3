//! What a message holds.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Kind;
use crate::connection;

/// Where an A2A message, status, artifact or task has its parts, lists of them included.
const PARTS: [&str; 4] = [
    "/parts",
    "/message/parts",
    "/status/message/parts",
    "/artifact/parts",
];

/// The id of a message, or of the message in a status.
pub(super) fn message_id(message: &Value) -> Option<String> {
    let places = [
        "/messageId",
        "/message/messageId",
        "/status/message/messageId",
    ];
    let mut ids = places.iter().filter_map(|place| message.pointer(place));
    ids.find_map(Value::as_str).map(str::to_owned)
}

/// The kinds of what a message holds, at least one.
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
    match kinds.is_empty() {
        true => BTreeSet::from([Kind::Other]),
        false => kinds,
    }
}

/// The texts in a message's parts, or the message itself if it is a text.
pub(crate) fn texts(message: &Value) -> Vec<&str> {
    let parts = parts(message).filter_map(|part| part.get("text")?.as_str());
    let texts = message.as_str().into_iter().chain(parts);
    texts.filter(|text| !text.trim().is_empty()).collect()
}

/// The objects in a message's data parts; a message that is not of A2A is one itself.
fn objects(message: &Value) -> Vec<&Map<String, Value>> {
    let mut objects: Vec<_> = parts(message)
        .filter_map(|part| part.get("data")?.as_object())
        .collect();
    if parts(message).next().is_none() {
        objects.extend(message.as_object());
    }
    objects
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    let of_artifacts = list(message, "/artifacts").flat_map(|artifact| list(artifact, "/parts"));
    let parts = PARTS.iter().flat_map(|place| list(message, place));
    parts.chain(of_artifacts)
}

fn list<'a>(value: &'a Value, place: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let list = value.pointer(place).and_then(Value::as_array);
    list.into_iter().flatten()
}
