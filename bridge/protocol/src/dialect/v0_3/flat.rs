//! The task in the form in which the simplest agents of 0.3 answer `message/send`: wrapped as in 1.0, with
//! its state in place of its status. The 0.3 reader of results accepts it, see
//! [`send_result_to_v1`](super::event::send_result_to_v1).

use serde_json::{Value, json};

use super::{Form, task};
use crate::{
    a2a::Task,
    dialect::{Losses, with_answer_as_artifact},
};

/// Writes a task as `{"task": {"id", "contextId", "state", "artifacts", "history"}}`. It has only the state
/// of the status, so the agent's last message becomes an artifact if there is none.
pub fn from_v1(task: &Task, losses: &mut Losses) -> Value {
    let shown = with_answer_as_artifact(task.clone());
    let mut written = losses.inside("task", |losses| task::from_v1(&shown, Form::JsonRpc, losses));
    let mut flat = json!({"state": written["status"]["state"].take()});
    for (name, usual) in [
        ("id", Value::Null),
        ("contextId", Value::Null),
        ("artifacts", json!([])),
        ("history", json!([])),
    ] {
        let value = written[name].take();
        flat[name] = if value.is_null() { usual } else { value };
    }
    if !written["metadata"].is_null() {
        flat["metadata"] = written["metadata"].take();
    }
    json!({"task": flat})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{a2a::SendMessageResponse, dialect::Version, wire::Wire as _};

    #[test]
    fn flat_parts_round_trip() {
        let task = Task::read(json!({
            "id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED", "message": {
                "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Hi! How can I help?"}]}},
        }))
        .unwrap();
        let written = from_v1(&task, &mut Losses::new());
        assert_eq!(
            written,
            json!({"task": {
                "id": "t", "contextId": "c", "state": "completed", "history": [],
                "artifacts": [{"artifactId": "0", "parts": [
                    {"kind": "text", "text": "Hi! How can I help?"},
                ]}],
            }})
        );
        let read = Version::V0_3.send_result_to_v1(written).unwrap();
        let SendMessageResponse::Task(read) = read else {
            panic!("a task was written");
        };
        assert_eq!((read.id.as_str(), read.status.state), ("t", task.status.state));
        assert_eq!(read.artifacts[0].parts, task.status.message.unwrap().parts);
    }
}
