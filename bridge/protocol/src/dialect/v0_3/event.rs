//! The answers of an agent, which are distinguished by `kind` (0.3, sections 7.1.2 and 7.2.1 to 7.2.3).

use serde_json::Value;

use super::{Form, message, task};
use crate::{
    a2a::{
        Message, Metadata, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent,
        TaskStatusUpdateEvent,
    },
    dialect::{Losses, object, v0_1},
    wire::{FieldError, Fields},
};

/// Reads a status update. `final` follows from the state, and could contradict it, so it is not kept.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn status_update_to_v1(value: Value, form: Form) -> Result<TaskStatusUpdateEvent, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("kind");
    fields.take("final");
    Ok(TaskStatusUpdateEvent {
        task_id: fields.required("taskId")?,
        context_id: fields.optional("contextId")?,
        status: fields.required_by("status", |status| task::status_to_v1(status, form))?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes a status update. `is_final` tells the client that the agent does nothing more for this message.
pub fn status_update_from_v1(
    update: &TaskStatusUpdateEvent,
    is_final: bool,
    form: Form,
    losses: &mut Losses,
) -> Value {
    let mut object = form.object("status-update");
    object.put("taskId", update.task_id.as_str());
    object.put("contextId", update.context_id.as_str());
    let status =
        losses.inside("status", |losses| task::status_from_v1(&update.status, form, losses));
    object.put("status", status);
    object.put("final", is_final);
    object.some("metadata", update.metadata.clone());
    object.finish(&update.extra, &[], losses)
}

/// Reads an artifact update.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn artifact_update_to_v1(
    value: Value,
    form: Form,
) -> Result<TaskArtifactUpdateEvent, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("kind");
    Ok(TaskArtifactUpdateEvent {
        task_id: fields.required("taskId")?,
        context_id: fields.optional("contextId")?,
        artifact: fields
            .required_by("artifact", |artifact| task::artifact_to_v1(artifact, form))?,
        append: fields.optional("append")?,
        last_chunk: fields.optional("lastChunk")?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes an artifact update.
pub fn artifact_update_from_v1(
    update: &TaskArtifactUpdateEvent,
    form: Form,
    losses: &mut Losses,
) -> Value {
    let mut object = form.object("artifact-update");
    object.put("taskId", update.task_id.as_str());
    object.put("contextId", update.context_id.as_str());
    let artifact =
        losses.inside("artifact", |losses| task::artifact_from_v1(&update.artifact, form, losses));
    object.put("artifact", artifact);
    // Over JSON-RPC, flags that are false are left out.
    for (key, flag) in [("append", update.append), ("lastChunk", update.last_chunk)] {
        object.some(key, Some(flag).filter(|flag| *flag || form == Form::Proto));
    }
    object.some("metadata", update.metadata.clone());
    object.finish(&update.extra, &[], losses)
}

pub(crate) enum Kind {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

/// Returns the type of an answer. Some agents leave out `kind`; then the fields decide.
fn kind_of(value: &Value, kinds: &str) -> Result<Kind, FieldError> {
    let has = |key| value.get(key).is_some_and(|field| !field.is_null());
    match value.get("kind").unwrap_or(&Value::Null) {
        Value::String(kind) if kind == "task" => Ok(Kind::Task),
        Value::String(kind) if kind == "message" => Ok(Kind::Message),
        Value::String(kind) if kind == "status-update" => Ok(Kind::StatusUpdate),
        Value::String(kind) if kind == "artifact-update" => Ok(Kind::ArtifactUpdate),
        Value::Null if !value.is_object() => Err(FieldError::unexpected(kinds, value)),
        Value::Null if has("artifact") => Ok(Kind::ArtifactUpdate),
        Value::Null if has("status") && has("taskId") => Ok(Kind::StatusUpdate),
        Value::Null if has("status") => Ok(Kind::Task),
        Value::Null if has("parts") => Ok(Kind::Message),
        Value::Null => Err(FieldError::new(kinds, "an object without kind")),
        other => Err(FieldError::unexpected(kinds, other).inside("kind")),
    }
}

/// Reads a message that is the whole answer. Without a role, as in the specification's own example (9.2), it
/// is the agent's.
fn answer_to_v1(mut value: Value) -> Result<Message, FieldError> {
    if let Value::Object(fields) = &mut value {
        fields.entry("role").or_insert_with(|| "agent".into());
    }
    message::to_v1(value, Form::JsonRpc)
}

/// Returns the task in an answer of the form `{"task": {..}}`, as in 1.0.
fn wrapped_task(value: &Value) -> Option<&Value> {
    value.get("task").filter(|task| task.is_object() && !is_answer(value))
}

/// Returns whether an object is an answer itself. Its further members may have the names of wrappers.
fn is_answer(value: &Value) -> bool {
    let has_state = value.get("status").is_some_and(|status| status.get("state").is_some());
    let has_parts = value.get("parts").is_some_and(Value::is_array);
    let has_artifact = value.get("artifact").is_some_and(Value::is_object);
    value.get("kind").is_some() || has_state || has_parts || has_artifact
}

/// Reads a wrapped task, which follows no version: often its state is in place of its status and its
/// artifacts have no ids, which the reader of 0.1 accepts.
fn wrapped_task_to_v1(task: &Value) -> Result<Task, FieldError> {
    let read =
        task::to_v1(task.clone(), Form::JsonRpc).or_else(|_| v0_1::task::to_v1(task.clone()));
    read.map_err(|error| error.inside("task"))
}

/// Returns the answer inside `{"statusUpdate": {..}}` and the like, the form of 1.0, which some agents use in 0.3 too.
fn unwrapped(mut value: Value) -> Value {
    const WRAPPERS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];
    let is_answer = is_answer(&value);
    let Some(fields) = value.as_object_mut().filter(|_| !is_answer) else {
        return value;
    };
    let wrapper = WRAPPERS.into_iter().find(|name| fields.get(*name).is_some_and(Value::is_object));
    match wrapper.and_then(|name| fields.remove(name)) {
        Some(answer) => answer,
        None => value,
    }
}

/// Reads the result of `message/send`. A wrapped task or message is accepted too.
///
/// # Errors
/// If it is neither a task nor a message, or a field is missing or invalid: its path, and what was expected there.
pub fn send_result_to_v1(value: Value) -> Result<SendMessageResponse, FieldError> {
    const KINDS: &str = "one of task, message";
    if let Some(task) = wrapped_task(&value) {
        return wrapped_task_to_v1(task).map(SendMessageResponse::Task);
    }
    let value = unwrapped(value);
    match kind_of(&value, KINDS)? {
        Kind::Task => task::to_v1(value, Form::JsonRpc).map(SendMessageResponse::Task),
        Kind::Message => answer_to_v1(value).map(SendMessageResponse::Message),
        Kind::StatusUpdate => Err(FieldError::new(KINDS, "a status update")),
        Kind::ArtifactUpdate => Err(FieldError::new(KINDS, "an artifact update")),
    }
}

/// Writes the result of `message/send`.
pub fn send_result_from_v1(result: &SendMessageResponse, losses: &mut Losses) -> Value {
    match result {
        SendMessageResponse::Task(task) => task::from_v1(task, Form::JsonRpc, losses),
        SendMessageResponse::Message(message) => message::from_v1(message, Form::JsonRpc, losses),
    }
}

/// Reads one item of a stream. A wrapped one is accepted too.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn stream_item_to_v1(value: Value) -> Result<StreamResponse, FieldError> {
    let (value, form) = (unwrapped(value), Form::JsonRpc);
    match kind_of(&value, "one of task, message, status-update, artifact-update")? {
        Kind::Task => task::to_v1(value, form).map(StreamResponse::Task),
        Kind::Message => answer_to_v1(value).map(StreamResponse::Message),
        Kind::StatusUpdate => status_update_to_v1(value, form).map(StreamResponse::StatusUpdate),
        Kind::ArtifactUpdate => {
            artifact_update_to_v1(value, form).map(StreamResponse::ArtifactUpdate)
        }
    }
}

/// Writes one item of a stream.
pub fn stream_item_from_v1(item: &StreamResponse, losses: &mut Losses) -> Value {
    let form = Form::JsonRpc;
    match item {
        StreamResponse::Task(task) => task::from_v1(task, form, losses),
        StreamResponse::Message(message) => message::from_v1(message, form, losses),
        StreamResponse::StatusUpdate(update) => {
            let state = &update.status.state;
            let is_final = state.is_terminal() || state.is_interrupted();
            status_update_from_v1(update, is_final, form, losses)
        }
        StreamResponse::ArtifactUpdate(update) => artifact_update_from_v1(update, form, losses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::string::ToString;

    #[test]
    fn final_is_what_the_state_says() {
        for (state, is_final) in [
            ("submitted", false),
            ("working", false),
            ("unknown", false),
            ("asleep", false),
            ("input-required", true),
            ("auth-required", true),
            ("completed", true),
            ("failed", true),
            ("canceled", true),
            ("rejected", true),
        ] {
            let update = json!({
                "kind": "status-update", "taskId": "t", "contextId": "c",
                "status": {"state": state}, "final": !is_final,
            });
            let read = status_update_to_v1(update, Form::JsonRpc).unwrap();
            assert!(read.extra.is_empty());
            let item = StreamResponse::StatusUpdate(read);
            let written = stream_item_from_v1(&item, &mut Losses::new());
            assert_eq!(written["final"], is_final, "{state}");
            assert_eq!(written["status"]["state"], state);
        }
    }

    #[test]
    fn a_response_without_kind_is_recognised_by_its_fields() {
        let status = json!({"state": "working"});
        for (item, kind) in [
            (json!({"id": "t", "status": status}), "task"),
            (json!({"id": "t", "status": status, "message": {"text": "hi"}}), "task"),
            (json!({"messageId": "m", "parts": [], "task": {"id": "t"}}), "message"),
            (json!({"messageId": "m", "role": "agent", "parts": []}), "message"),
            (json!({"messageId": "m", "parts": []}), "message"),
            (json!({"taskId": "t", "status": status}), "status-update"),
            (
                json!({"taskId": "t", "artifact": {"artifactId": "a", "parts": []}}),
                "artifact-update",
            ),
        ] {
            let item = stream_item_to_v1(item).unwrap();
            assert_eq!(stream_item_from_v1(&item, &mut Losses::new())["kind"], kind);
        }
    }

    #[test]
    fn an_answer_may_be_wrapped_as_in_1_0() {
        let status = json!({"state": "working"});
        for (wrapper, answer) in [
            ("task", json!({"kind": "task", "id": "t", "contextId": "c", "status": status})),
            ("message", json!({"kind": "message", "messageId": "m", "role": "agent", "parts": []})),
            (
                "statusUpdate",
                json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": status}),
            ),
            (
                "artifactUpdate",
                json!({"taskId": "t", "artifact": {"artifactId": "a", "parts": []}}),
            ),
        ] {
            let wrapped = json!({wrapper: answer});
            assert_eq!(stream_item_to_v1(wrapped.clone()), stream_item_to_v1(answer.clone()));
            if ["task", "message"].contains(&wrapper) {
                assert_eq!(send_result_to_v1(wrapped), send_result_to_v1(answer));
            }
        }
    }

    #[test]
    fn an_answer_that_is_none_says_what_it_could_be() {
        for (item, error) in [
            (json!(7), "expected one of task, message, found the number 7"),
            (json!({}), "expected one of task, message, found an object without kind"),
            (
                json!({"kind": "novel"}),
                "kind: expected one of task, message, found the string \"novel\"",
            ),
            (
                json!({"kind": "artifact-update"}),
                "expected one of task, message, found an artifact update",
            ),
            (
                json!({"kind": "task", "id": "t", "status": {"state": 7}}),
                "status.state: expected a task state such as working, found the number 7",
            ),
        ] {
            assert_eq!(send_result_to_v1(item).unwrap_err().to_string(), error);
        }
    }
}
