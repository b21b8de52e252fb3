//! Gives ids to messages and artifacts of answers that have none, so that an answer is not lost. Agents that are written without an
//! SDK leave them out, and clients that read protobuf accept that.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bridge_protocol::dialect::Version;
use serde_json::{Map, Value};

/// The members of answers and events that lead to messages and artifacts.
const PATHS: [&str; 9] = [
    "task",
    "tasks",
    "message",
    "status",
    "history",
    "artifacts",
    "artifact",
    "statusUpdate",
    "artifactUpdate",
];

/// Adds the missing ids to an answer or an event; 0.1 has none. The same content always gets the same id, because a message moves
/// from the status to the history.
pub(super) fn add(version: Version, answer: &mut Value) {
    match version {
        Version::V0_1 => {}
        Version::V0_3 | Version::V1_0 => add_within(answer),
    }
}

fn add_within(answer: &mut Value) {
    match answer {
        Value::Array(items) => items.iter_mut().for_each(add_within),
        Value::Object(members) if members.get("parts").is_some_and(Value::is_array) => {
            name(members);
        }
        Value::Object(members) => {
            for path in PATHS {
                members.get_mut(path).into_iter().for_each(add_within);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Names a message, which has a role, or an artifact.
fn name(members: &mut Map<String, Value>) {
    let member = if members.contains_key("role") { "messageId" } else { "artifactId" };
    if members.get(member).is_none_or(Value::is_null) {
        let mut hasher = DefaultHasher::new();
        members["parts"].hash(&mut hasher);
        members.insert(member.to_owned(), format!("unnamed-{:016x}", hasher.finish()).into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_and_artifacts_without_an_id_get_one_that_stays_the_same() {
        let said = json!({"role": "agent", "parts": [{"kind": "text", "text": "hi"}]});
        let data = json!({"message": {"role": "agent", "parts": []}});
        let named =
            json!({"role": "agent", "messageId": "m", "parts": [{"kind": "data", "data": data}]});
        let mut task = json!({
            "status": {"message": said}, "history": [said, named],
            "artifacts": [{"parts": [{"text": "hi"}]}, {"artifactId": "a", "parts": []}],
            "metadata": data,
        });
        let before = task.clone();
        add(Version::V0_3, &mut task);
        let id = &task["status"]["message"]["messageId"];
        assert!(id.as_str().unwrap().starts_with("unnamed-"), "{task}");
        assert_eq!(task["history"][0]["messageId"], *id);
        assert_eq!(task["history"][1], named);
        assert!(task["artifacts"][0]["artifactId"].is_string(), "{task}");
        assert_eq!(task["artifacts"][1], before["artifacts"][1]);
        assert_eq!(task["metadata"], data);
    }
}
