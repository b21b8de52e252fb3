//! Changes documents as JSON, so that the results can still be read up to their fields.

use serde_json::{Map, Number, Value, json};

use super::{bytes, rng::Rng};

/// Names that mean something somewhere.
const NAMES: [&str; 32] = [
    "id",
    "kind",
    "type",
    "text",
    "data",
    "raw",
    "url",
    "file",
    "bytes",
    "uri",
    "metadata",
    "message",
    "messageId",
    "taskId",
    "contextId",
    "parts",
    "role",
    "status",
    "state",
    "artifact",
    "artifacts",
    "history",
    "task",
    "method",
    "params",
    "jsonrpc",
    "configuration",
    "pushNotificationConfig",
    "taskPushNotificationConfig",
    "historyLength",
    "pageSize",
    "v0_3",
];

/// Texts that mean something somewhere, or are hard to take.
const TEXTS: [&str; 22] = [
    "",
    " ",
    "\u{0}",
    "\u{feff}",
    "é\u{301}",
    "𝕏",
    "\u{202e}",
    "../..",
    "a/b/c",
    "1",
    "-1",
    "1e400",
    "null",
    "TASK_STATE_WORKING",
    "TASK_STATE_UNKNOWN",
    "ROLE_AGENT",
    "working",
    "2026-11-22T00:00:00Z",
    "9999-99-99T99:99:99Z",
    "AAAA",
    "====",
    "data:text/plain;base64,%%%",
];

/// Returns one of the seeds, changed in a few places, also with pieces of the others.
pub(super) fn change(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed: &Vec<u8> = rng.pick(seeds);
    let Ok(mut value) = serde_json::from_slice::<Value>(seed) else {
        return bytes::change(rng, seeds);
    };
    for _ in 0..=rng.below(5) {
        let other: &Vec<u8> = rng.pick(seeds);
        let other = serde_json::from_slice(other).unwrap_or_default();
        let mut at = rng.below(size(&value));
        if let Some(place) = find(&mut value, &mut at) {
            change_once(rng, place, other);
        }
    }
    let mut text = value.to_string().into_bytes();
    if rng.one_in(16) {
        bytes::change_once(rng, &mut text, seeds);
    }
    text
}

/// Returns the number of values in a value, including itself.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Returns the value with this index, from the outside to the inside.
fn find<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| find(item, at)),
        Value::Object(members) => members.values_mut().find_map(|member| find(member, at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn change_once(rng: &mut Rng, place: &mut Value, mut other: Value) {
    match rng.below(8) {
        0 => *place = junk(rng),
        1 => {
            let mut at = rng.below(size(&other));
            *place = find(&mut other, &mut at).map(Value::take).unwrap_or_default();
        }
        2 => *place = json!([place.take()]),
        3 => *place = json!({*rng.pick(&NAMES): place.take()}),
        _ => match place {
            Value::Object(members) => change_object(rng, members),
            Value::Array(items) => change_list(rng, items),
            Value::String(text) => change_text(rng, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => *place = junk(rng),
        },
    }
}

fn change_object(rng: &mut Rng, members: &mut Map<String, Value>) {
    let names: Vec<String> = members.keys().cloned().collect();
    let name = (!names.is_empty()).then(|| rng.pick(&names).clone());
    match (rng.below(4), name) {
        (0, Some(name)) => drop(members.remove(&name)),
        (1, Some(name)) => {
            let value = members.remove(&name).unwrap_or_default();
            members.insert((*rng.pick(&NAMES)).to_owned(), value);
        }
        (2, Some(name)) => {
            let value = members[&name].clone();
            members.insert((*rng.pick(&NAMES)).to_owned(), value);
        }
        _ => drop(members.insert((*rng.pick(&NAMES)).to_owned(), junk(rng))),
    }
}

fn change_list(rng: &mut Rng, items: &mut Vec<Value>) {
    let at = rng.below(items.len());
    match rng.below(4) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => {
            let item = items[at].clone();
            items.extend(std::iter::repeat_n(item, rng.below(8)));
        }
        2 => items.reverse(),
        _ => items.insert(at, junk(rng)),
    }
}

fn change_text(rng: &mut Rng, text: &mut String) {
    match rng.below(3) {
        0 => TEXTS[rng.below(TEXTS.len())].clone_into(text),
        1 => text.push_str(TEXTS[rng.below(TEXTS.len())]),
        _ => {
            let mut raw = std::mem::take(text).into_bytes();
            bytes::change_once(rng, &mut raw, &[Vec::new()]);
            *text = String::from_utf8_lossy(&raw).into_owned();
        }
    }
}

fn junk(rng: &mut Rng) -> Value {
    match rng.below(12) {
        0 => Value::Null,
        1 => true.into(),
        2 => false.into(),
        3 => 0.into(),
        4 => (-1).into(),
        5 => i64::MIN.into(),
        6 => u64::MAX.into(),
        7 => Number::from_f64(1.5e300).map_or(Value::Null, Value::Number),
        8 => json!([]),
        9 => json!({}),
        10 => (0..rng.below(100)).fold(json!({}), |inner, _| json!([inner])),
        _ => (*rng.pick(&TEXTS)).into(),
    }
}
