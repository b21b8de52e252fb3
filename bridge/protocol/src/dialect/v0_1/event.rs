//! The answers of an agent: a task, or events of one.
//!
//! 0.1 has no answer without a task, so a message becomes the status of a completed task. Its streams contain
//! no tasks either; a task is written as it is, which readers of 0.1 take for a status update.

use alloc::string::String;

use serde_json::Value;

use super::{artifact, identity::MessageId, message, task};
use crate::{
    a2a::{
        Message, Metadata, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent,
        TaskState, TaskStatus, TaskStatusUpdateEvent,
    },
    dialect::{Losses, object, v0_3::event::Kind},
    wire::{FieldError, Fields},
};

/// The field names of an event that exist in 1.0 and not in 0.1.
const V1_NAMES: [&str; 4] = ["taskId", "contextId", "append", "lastChunk"];

/// Reads a status update. `final` follows from the state and is not kept.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn status_update_to_v1(value: Value) -> Result<TaskStatusUpdateEvent, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("final");
    let id: String = fields.required("id")?;
    let made = MessageId::Made { task: &id };
    Ok(TaskStatusUpdateEvent {
        context_id: fields.optional("sessionId")?,
        status: fields.required_by("status", |status| task::status_to_v1(status, made))?,
        metadata: fields.optional("metadata")?,
        extra: object::V0_1.extra(fields, &V1_NAMES, Metadata::new()),
        task_id: id,
    })
}

/// Writes a status update. It is final if the agent does nothing more for this message.
pub fn status_update_from_v1(update: &TaskStatusUpdateEvent, losses: &mut Losses) -> Value {
    let state = &update.status.state;
    let mut object = object::V0_1.object();
    object.put("id", update.task_id.as_str());
    object.some("sessionId", session(&update.context_id));
    let status = losses
        .inside("status", |losses| task::status_from_v1(&update.status, &update.task_id, losses));
    object.put("status", status);
    object.put("final", state.is_terminal() || state.is_interrupted());
    object.some("metadata", update.metadata.clone());
    object.finish(&update.extra, &["sessionId", "artifact"], losses)
}

/// Events of 0.1 have no session; it is added for clients that know it.
fn session(context_id: &str) -> Option<&str> {
    Some(context_id).filter(|id| !id.is_empty())
}

/// Reads an artifact update, whose flags are in the artifact.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn artifact_update_to_v1(value: Value) -> Result<TaskArtifactUpdateEvent, FieldError> {
    let mut fields = Fields::of(value)?;
    let (artifact, append, last_chunk) = fields.required_by("artifact", |artifact| {
        let mut fields = Fields::of(artifact)?;
        let flags = (fields.optional("append")?, fields.optional("lastChunk")?);
        let artifact = artifact::read(fields, 0, &mut artifact::Numbers::default())?;
        Ok((artifact, flags.0, flags.1))
    })?;
    Ok(TaskArtifactUpdateEvent {
        task_id: fields.required("id")?,
        context_id: fields.optional("sessionId")?,
        artifact,
        append,
        last_chunk,
        metadata: fields.optional("metadata")?,
        extra: object::V0_1.extra(fields, &V1_NAMES, Metadata::new()),
    })
}

/// Writes an artifact update.
pub fn artifact_update_from_v1(update: &TaskArtifactUpdateEvent, losses: &mut Losses) -> Value {
    const TAKEN: [&str; 4] = ["append", "lastChunk", "index", "artifactId"];
    let mut object = object::V0_1.object();
    object.put("id", update.task_id.as_str());
    object.some("sessionId", session(&update.context_id));
    let artifact = losses.inside("artifact", |losses| {
        let numbers = &mut artifact::Numbers::default();
        let mut artifact = artifact::write(&update.artifact, numbers, losses);
        artifact.some("append", update.append.then_some(true));
        artifact.some("lastChunk", update.last_chunk.then_some(true));
        artifact.finish(&update.artifact.extra, &TAKEN, losses)
    });
    object.put("artifact", artifact);
    object.some("metadata", update.metadata.clone());
    object.finish(&update.extra, &["sessionId"], losses)
}

/// Returns the type of an answer, by its fields, because 0.1 does not name it. An answer that could be a task or a
/// status update is the latter, unless it has a field that only tasks have.
fn kind_of(value: &Value, kinds: &str) -> Result<Kind, FieldError> {
    let has = |key| value.get(key).is_some_and(|field| !field.is_null());
    let has_state = has("status") || has("state");
    let has_work = has("sessionId") || has("artifacts") || has("history");
    if !value.is_object() {
        return Err(FieldError::unexpected(kinds, value));
    }
    match (has("artifact"), has_state) {
        (true, _) => Ok(Kind::ArtifactUpdate),
        (false, true) if has("final") => Ok(Kind::StatusUpdate),
        (false, true) if has_work || has("state") => Ok(Kind::Task),
        (false, true) => Ok(Kind::StatusUpdate),
        (false, false) if has("parts") || has("content") => Ok(Kind::Message),
        (false, false) => Err(FieldError::new(kinds, "an object without status")),
    }
}

/// Unwraps a task from `{"task": {..}}`, which some agents send.
fn unwrapped(mut value: Value) -> Value {
    match value.get_mut("task") {
        Some(task @ Value::Object(_)) => task.take(),
        Some(_) | None => value,
    }
}

/// Reads a message without a task; its id is derived from its content.
fn lone_message(value: Value) -> Result<Message, FieldError> {
    message::to_v1(value, MessageId::Made { task: "" })
}

/// Reads the answer to `tasks/send`: a task. A message or a wrapped task is accepted too.
///
/// # Errors
/// If it is neither a task nor a message, or a field is missing or invalid: its path, and what was expected there.
pub fn send_result_to_v1(value: Value) -> Result<SendMessageResponse, FieldError> {
    let value = unwrapped(value);
    match kind_of(&value, "a task")? {
        Kind::Task | Kind::StatusUpdate => task::to_v1(value).map(SendMessageResponse::Task),
        Kind::Message => lone_message(value).map(SendMessageResponse::Message),
        Kind::ArtifactUpdate => Err(FieldError::new("a task", "an artifact update")),
    }
}

/// Writes the answer to `tasks/send`. A message becomes a task with its `taskId`.
pub fn send_result_from_v1(result: &SendMessageResponse, losses: &mut Losses) -> Value {
    match result {
        SendMessageResponse::Task(task) => task::from_v1(task, losses),
        SendMessageResponse::Message(message) => {
            losses.add("", "0.1 answers with tasks; the message is sent as a completed task");
            let task = Task {
                context_id: message.context_id.clone(),
                ..Task::new(task_of(message), completed_with(message))
            };
            task::from_v1(&task, losses)
        }
    }
}

/// Returns the task that a message belongs to. A message without one becomes its own task.
fn task_of(message: &Message) -> String {
    let named = message.task_id.as_ref().filter(|id| !id.is_empty());
    named.unwrap_or(&message.message_id).clone()
}

fn completed_with(message: &Message) -> TaskStatus {
    TaskStatus { message: Some(message.clone()), ..TaskStatus::new(TaskState::Completed) }
}

/// Reads one item of a stream.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn stream_item_to_v1(value: Value) -> Result<StreamResponse, FieldError> {
    let value = unwrapped(value);
    match kind_of(&value, "a status or artifact update")? {
        Kind::Task => task::to_v1(value).map(StreamResponse::Task),
        Kind::Message => lone_message(value).map(StreamResponse::Message),
        Kind::StatusUpdate => status_update_to_v1(value).map(StreamResponse::StatusUpdate),
        Kind::ArtifactUpdate => artifact_update_to_v1(value).map(StreamResponse::ArtifactUpdate),
    }
}

/// Writes one item of a stream.
pub fn stream_item_from_v1(item: &StreamResponse, losses: &mut Losses) -> Value {
    match item {
        StreamResponse::Task(task) => {
            losses.add("", "0.1 streams no tasks; readers take it for a status update");
            task::from_v1(task, losses)
        }
        StreamResponse::Message(message) => {
            losses.add("", "0.1 streams no messages; the message is sent as a completed task");
            let update = TaskStatusUpdateEvent {
                task_id: task_of(message),
                context_id: message.context_id.clone().unwrap_or_default(),
                status: completed_with(message),
                ..TaskStatusUpdateEvent::default()
            };
            status_update_from_v1(&update, losses)
        }
        StreamResponse::StatusUpdate(update) => status_update_from_v1(update, losses),
        StreamResponse::ArtifactUpdate(update) => artifact_update_from_v1(update, losses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::{Part, Role};
    use alloc::string::ToString;
    use serde_json::json;

    #[test]
    fn an_item_is_recognised_by_its_fields() {
        let status = json!({"state": "working"});
        for (item, kind) in [
            (json!({"id": "t", "status": status}), "statusUpdate"),
            (json!({"id": "t", "status": status, "final": false}), "statusUpdate"),
            (json!({"id": "t", "status": status, "sessionId": "s"}), "task"),
            (json!({"id": "t", "status": status, "artifacts": []}), "task"),
            (json!({"task": {"id": "t", "state": "working"}}), "task"),
            (json!({"id": "t", "artifact": {"parts": []}}), "artifactUpdate"),
            (json!({"role": "agent", "parts": []}), "message"),
        ] {
            let read = stream_item_to_v1(item.clone()).unwrap();
            let written = crate::wire::to_value(&read);
            assert!(written.get(kind).is_some(), "{item} became {written}");
        }
    }

    #[test]
    fn an_invalid_response_is_refused() {
        for (item, error) in [
            (json!(7), "expected a task, found the number 7"),
            (json!({}), "expected a task, found an object without status"),
            (
                json!({"id": "t", "artifact": {"parts": []}}),
                "expected a task, found an artifact update",
            ),
        ] {
            assert_eq!(send_result_to_v1(item).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn a_message_is_said_by_a_task_that_is_completed() {
        let mut message = Message::new("m", Role::Agent, [Part::text("hi")].into());
        message.task_id = Some("t".into());
        let mut losses = Losses::new();
        let answer = SendMessageResponse::Message(message.clone());
        let task = send_result_from_v1(&answer, &mut losses);
        assert_eq!(task["id"], "t");
        assert_eq!(task["status"]["state"], "completed");
        let item = stream_item_from_v1(&StreamResponse::Message(message), &mut losses);
        assert_eq!(item["final"], true);
        assert_eq!(losses.iter().count(), 2);
    }

    #[test]
    fn the_flags_of_an_update_are_in_its_artifact() {
        let artifact = json!({"index": 2, "parts": [], "append": true, "lastChunk": true});
        let update = json!({"id": "t", "artifact": artifact});
        let read = artifact_update_to_v1(update.clone()).unwrap();
        assert!(read.append && read.last_chunk);
        assert_eq!(read.artifact.artifact_id, "2");
        assert_eq!(artifact_update_from_v1(&read, &mut Losses::new()), update);
    }
}
