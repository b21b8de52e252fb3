//! Tasks and their states.

use alloc::string::String;

use serde_json::Value;

use super::{artifact, identity::MessageId, message};
use crate::{
    a2a::{Metadata, Task, TaskState, TaskStatus},
    dialect::{
        Losses,
        alike::{self, named_state, state_name},
        object,
    },
    wire::{FieldError, Fields},
};

/// Reads a task. `state` in place of `status`, which existing agents write, is accepted.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<Task, FieldError> {
    let mut fields = Fields::of(value)?;
    let id: String = fields.required("id")?;
    let made = MessageId::Made { task: &id };
    Ok(Task {
        context_id: fields.filled("sessionId")?,
        status: read_status(&mut fields, made)?,
        artifacts: fields.optional_by("artifacts", artifact::list_to_v1)?.unwrap_or_default(),
        history: fields.list_by("history", |message| message::to_v1(message, made))?,
        metadata: fields.optional("metadata")?,
        extra: object::V0_1.extra(fields, &["contextId"], Metadata::new()),
        id,
    })
}

fn read_status(fields: &mut Fields, id: MessageId<'_>) -> Result<TaskStatus, FieldError> {
    if fields.has("status") || !fields.has("state") {
        return fields.required_by("status", |status| status_to_v1(status, id));
    }
    Ok(TaskStatus::new(fields.required_by("state", state_to_v1)?))
}

/// Writes a task.
pub fn from_v1(task: &Task, losses: &mut Losses) -> Value {
    let mut object = object::V0_1.object();
    object.put("id", task.id.as_str());
    let session = task.context_id.clone();
    object.some("sessionId", session.filter(|session| !session.is_empty()));
    let status = losses.inside("status", |losses| status_from_v1(&task.status, &task.id, losses));
    object.put("status", status);
    let artifacts = artifact::list_from_v1(&task.artifacts, losses);
    object.list("artifacts", artifacts);
    let history = losses.each("history", &task.history, |message, losses| {
        message::from_v1(message, Some(&task.id), losses)
    });
    object.list("history", history);
    object.some("metadata", task.metadata.clone());
    object.finish(&task.extra, &["sessionId", "artifacts", "history"], losses)
}

/// Reads a status; `id` is the source of the id of its message.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn status_to_v1(value: Value, id: MessageId<'_>) -> Result<TaskStatus, FieldError> {
    object::V0_1.status_to_v1(value, state_to_v1, |message| message::to_v1(message, id))
}

/// Writes the status of the `task`.
pub fn status_from_v1(status: &TaskStatus, task: &str, losses: &mut Losses) -> Value {
    let message = |message: &_, losses: &mut _| message::from_v1(message, Some(task), losses);
    object::V0_1.status_from_v1(status, state_from_v1, message, losses)
}

/// Reads a state. Those of 0.2 are accepted; `waiting` is python-a2a's.
fn state_to_v1(value: Value) -> Result<TaskState, FieldError> {
    alike::state_to_v1(value, |name| match name {
        "waiting" => TaskState::Working,
        name => named_state(name),
    })
}

/// Readers of 0.1 refuse unknown states, so the nearest known one is written.
fn state_from_v1(state: &TaskState, losses: &mut Losses) -> Value {
    let (said, loss) = match state {
        TaskState::Rejected => (TaskState::Failed, "0.1 has no state rejected; written as failed"),
        TaskState::AuthRequired => {
            (TaskState::InputRequired, "0.1 has no state auth-required; written as input-required")
        }
        TaskState::Unknown(_) => (state.clone(), "0.1 has no such state; it is written unchanged"),
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed
        | TaskState::Failed
        | TaskState::Canceled
        | TaskState::InputRequired => return state_name(state).into(),
    };
    losses.add("state", loss);
    state_name(&said).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::with_answer_as_artifact;
    use serde_json::json;

    #[test]
    fn a_message_keeps_its_id_when_it_moves_to_the_history() {
        let said = json!({"role": "agent", "parts": [{"type": "text", "text": "Which one?"}]});
        let asking = json!({"id": "t", "status": {"state": "input-required", "message": said}});
        let done = json!({"id": "t", "status": {"state": "completed"}, "history": [said]});
        let (asking, done) = (to_v1(asking).unwrap(), to_v1(done).unwrap());
        assert_eq!(asking.status.message.as_ref(), done.history.first());
    }

    #[test]
    fn an_answer_is_shown_as_an_artifact_if_there_is_none() {
        let said = json!({"role": "agent", "parts": [{"type": "text", "text": "42"}]});
        let status = json!({"state": "completed", "message": said});
        let task = to_v1(json!({"id": "t", "status": status})).unwrap();
        let shown = with_answer_as_artifact(task);
        assert_eq!(shown.artifacts[0].parts[0].as_text(), Some("42"));
        assert_eq!(with_answer_as_artifact(shown.clone()), shown);
    }

    #[test]
    fn a_state_in_the_place_of_a_status_is_understood() {
        let task = to_v1(json!({"id": "t", "state": "completed", "history": []})).unwrap();
        assert_eq!(task.status, TaskStatus::new(TaskState::Completed));
        let error = to_v1(json!({"id": "t"})).unwrap_err();
        assert_eq!(error.path, "status");
    }

    #[test]
    fn newer_states_are_said_as_near_as_can_be() {
        for (state, said, is_lost) in [
            (TaskState::Working, "working", false),
            (TaskState::Rejected, "failed", true),
            (TaskState::AuthRequired, "input-required", true),
        ] {
            let mut losses = Losses::new();
            let written = status_from_v1(&TaskStatus::new(state), "t", &mut losses);
            assert_eq!(written, json!({"state": said}));
            assert_eq!(!losses.is_empty(), is_lost, "{said}");
        }
    }
}
