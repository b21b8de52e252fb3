//! Brings A2A objects of 0.1, 0.2 and 0.3 into 1.0 form, as far as reading a transcript needs it.
//!
//! What is in 1.0 form already stays as it is, and so do members that no version knows.

use serde_json::{Map, Value, json};

/// A Task.
pub(super) fn task(wire: &Value) -> Value {
    let mut task = members(wire);
    task.remove("kind");
    rename(&mut task, "sessionId", "contextId");
    if let Some(state) = task.remove("state") {
        task.entry("status").or_insert(json!({"state": state}));
    }
    replace(&mut task, "status", status);
    replace_each(&mut task, "artifacts", artifact);
    replace_each(&mut task, "history", message);
    Value::Object(task)
}

/// A TaskStatus.
pub(super) fn status(wire: &Value) -> Value {
    let mut status = members(wire);
    replace(&mut status, "state", state);
    replace(&mut status, "message", message);
    Value::Object(status)
}

/// An Artifact. Those of 0.1 have an index in the place of an id.
pub(super) fn artifact(wire: &Value) -> Value {
    let mut artifact = members(wire);
    if !artifact.contains_key("artifactId") {
        let index = artifact.get("index").and_then(Value::as_u64).unwrap_or(0);
        artifact.insert("artifactId".to_owned(), json!(index.to_string()));
    }
    for gone in ["index", "append", "lastChunk"] {
        artifact.remove(gone);
    }
    replace_each(&mut artifact, "parts", part);
    Value::Object(artifact)
}

fn message(wire: &Value) -> Value {
    let mut message = members(wire);
    message.remove("kind");
    replace(&mut message, "role", role);
    replace_each(&mut message, "parts", part);
    Value::Object(message)
}

fn part(wire: &Value) -> Value {
    let mut part = members(wire);
    part.remove("kind");
    part.remove("type");
    if let Some(file) = part.remove("file") {
        let mut file = members(&file);
        rename(&mut file, "bytes", "raw");
        rename(&mut file, "uri", "url");
        rename(&mut file, "name", "filename");
        rename(&mut file, "mimeType", "mediaType");
        part.extend(file);
    }
    Value::Object(part)
}

fn state(wire: &Value) -> Value {
    match wire.as_str() {
        Some("unknown") => json!("TASK_STATE_UNSPECIFIED"),
        Some(word) if !word.starts_with("TASK_STATE_") => {
            json!(format!(
                "TASK_STATE_{}",
                word.to_uppercase().replace('-', "_")
            ))
        }
        Some(_) | None => wire.clone(),
    }
}

fn role(wire: &Value) -> Value {
    match wire.as_str() {
        Some("user") => json!("ROLE_USER"),
        Some("agent") => json!("ROLE_AGENT"),
        Some(_) | None => wire.clone(),
    }
}

fn members(wire: &Value) -> Map<String, Value> {
    wire.as_object().cloned().unwrap_or_default()
}

fn rename(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.entry(to).or_insert(value);
    }
}

fn replace(object: &mut Map<String, Value>, key: &str, with: fn(&Value) -> Value) {
    if let Some(value) = object.get_mut(key).filter(|value| !value.is_null()) {
        *value = with(value);
    }
}

fn replace_each(object: &mut Map<String, Value>, key: &str, with: fn(&Value) -> Value) {
    if let Some(Value::Array(values)) = object.get_mut(key) {
        values.iter_mut().for_each(|value| *value = with(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern() -> Value {
        json!({
            "id": "t", "contextId": "c",
            "status": {
                "state": "TASK_STATE_INPUT_REQUIRED",
                "message": {"role": "ROLE_AGENT", "parts": [{"text": "which?"}]},
            },
            "artifacts": [{"artifactId": "0", "parts": [
                {"data": {"score": 1}},
                {"raw": "AA==", "filename": "a.bin", "mediaType": "application/x"},
            ]}],
        })
    }

    #[test]
    fn a_task_of_0_3_comes_into_1_0_form() {
        let old = json!({
            "kind": "task", "id": "t", "contextId": "c",
            "status": {
                "state": "input-required",
                "message": {"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": "which?"}]},
            },
            "artifacts": [{"artifactId": "0", "parts": [
                {"kind": "data", "data": {"score": 1}},
                {"kind": "file", "file": {"bytes": "AA==", "name": "a.bin", "mimeType": "application/x"}},
            ]}],
        });
        assert_eq!(task(&old), modern());
    }

    #[test]
    fn a_task_of_0_1_comes_into_1_0_form() {
        let old = json!({
            "id": "t", "sessionId": "c",
            "status": {
                "state": "input-required",
                "message": {"role": "agent", "parts": [{"type": "text", "text": "which?"}]},
            },
            "artifacts": [{"index": 0, "parts": [
                {"type": "data", "data": {"score": 1}},
                {"type": "file", "file": {"bytes": "AA==", "name": "a.bin", "mimeType": "application/x"}},
            ]}],
        });
        assert_eq!(task(&old), modern());
    }

    #[test]
    fn a_task_of_1_0_stays_as_it_is() {
        assert_eq!(task(&modern()), modern());
    }
}
