//! Tasks, their states and artifacts (0.3, sections 6.1 to 6.3 and 6.7).

use alloc::string::String;

use serde_json::Value;

use super::{message, part};
use crate::{
    a2a::{Artifact, Metadata, Task, TaskState, TaskStatus},
    dialect::{
        Losses,
        object::{self, Object},
    },
    wire::{FieldError, Fields, list},
};

/// Reads a task. An empty `contextId` is an absent one: 0.3 requires it, and not every server has one.
pub fn to_v1(value: Value) -> Result<Task, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("kind");
    let context_id: String = fields.optional("contextId")?;
    Ok(Task {
        id: fields.required("id")?,
        context_id: Some(context_id).filter(|id| !id.is_empty()),
        status: fields.required_by("status", status_to_v1)?,
        artifacts: fields
            .optional_by("artifacts", |items| list(items, artifact_to_v1))?
            .unwrap_or_default(),
        history: fields
            .optional_by("history", |items| list(items, message::to_v1))?
            .unwrap_or_default(),
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes a task.
pub fn from_v1(task: &Task, losses: &mut Losses) -> Value {
    let mut object = Object::of_kind("task");
    object.put("id", task.id.as_str());
    object.put("contextId", task.context_id.as_deref().unwrap_or_default());
    let status = losses.inside("status", |losses| status_from_v1(&task.status, losses));
    object.put("status", status);
    let artifacts = losses.each("artifacts", &task.artifacts, artifact_from_v1);
    object.list("artifacts", &artifacts);
    let history = losses.each("history", &task.history, message::from_v1);
    object.list("history", &history);
    object.some("metadata", task.metadata.clone());
    object.finish(&task.extra, &[], losses)
}

/// Reads a status.
pub fn status_to_v1(value: Value) -> Result<TaskStatus, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(TaskStatus {
        state: fields.required_by("state", state_to_v1)?,
        message: fields.optional_by("message", message::to_v1)?,
        timestamp: fields.optional("timestamp")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes a status.
pub fn status_from_v1(status: &TaskStatus, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("state", state_from_v1(&status.state, losses));
    let message = status.message.as_ref();
    object.some(
        "message",
        message.map(|message| losses.inside("message", |losses| message::from_v1(message, losses))),
    );
    object.some("timestamp", status.timestamp.clone());
    object.finish(&status.extra, &[], losses)
}

/// Reads an artifact.
pub fn artifact_to_v1(value: Value) -> Result<Artifact, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(Artifact {
        artifact_id: fields.required("artifactId")?,
        name: fields.optional("name")?,
        description: fields.optional("description")?,
        parts: fields.required_by("parts", |parts| list(parts, part::to_v1))?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes an artifact.
pub fn artifact_from_v1(artifact: &Artifact, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("artifactId", artifact.artifact_id.as_str());
    object.some("name", artifact.name.clone());
    object.some("description", artifact.description.clone());
    object.put(
        "parts",
        losses.each("parts", &artifact.parts, part::from_v1),
    );
    object.some("metadata", artifact.metadata.clone());
    object.list("extensions", &artifact.extensions);
    object.finish(&artifact.extra, &[], losses)
}

fn state_to_v1(value: Value) -> Result<TaskState, FieldError> {
    match value {
        Value::String(state) => Ok(named_state(&state)),
        other => Err(FieldError::unexpected(
            "a task state such as working",
            &other,
        )),
    }
}

/// 0.3's `unknown` is what 1.0 calls unspecified.
fn named_state(name: &str) -> TaskState {
    match name {
        "unknown" => TaskState::Unspecified,
        "submitted" => TaskState::Submitted,
        "working" => TaskState::Working,
        "completed" => TaskState::Completed,
        "failed" => TaskState::Failed,
        "canceled" => TaskState::Canceled,
        "input-required" => TaskState::InputRequired,
        "rejected" => TaskState::Rejected,
        "auth-required" => TaskState::AuthRequired,
        other => TaskState::from(other),
    }
}

fn state_from_v1(state: &TaskState, losses: &mut Losses) -> String {
    let name = match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
        TaskState::Unknown(name) => {
            losses.add("state", "0.3 has no such state; it is written as it came");
            name
        }
    };
    name.into()
}
