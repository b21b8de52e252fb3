//! Tasks, their states and artifacts (0.3, sections 6.1 to 6.3 and 6.7).

use alloc::string::String;

use serde_json::Value;

use super::{message, part};
use crate::{
    a2a::{Artifact, Metadata, Task, TaskState, TaskStatus},
    dialect::{
        Losses,
        alike::{named_state, state_name},
        object::{self, Object},
    },
    wire::{FieldError, Fields, list},
};

/// Reads a task. An empty `contextId` counts as absent, because 0.3 requires the field and some servers have
/// no value.
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
    object.list("artifacts", artifacts);
    let history = losses.each("history", &task.history, message::from_v1);
    object.list("history", history);
    object.some("metadata", task.metadata.clone());
    object.finish(&task.extra, &[], losses)
}

/// Reads a status.
pub fn status_to_v1(value: Value) -> Result<TaskStatus, FieldError> {
    object::V0_3.status_to_v1(value, named_state, message::to_v1)
}

/// Writes a status.
pub fn status_from_v1(status: &TaskStatus, losses: &mut Losses) -> Value {
    object::V0_3.status_from_v1(status, state_from_v1, message::from_v1, losses)
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
    object.put("parts", losses.each("parts", &artifact.parts, part::from_v1));
    object.some("metadata", artifact.metadata.clone());
    object.list("extensions", artifact.extensions.clone());
    object.finish(&artifact.extra, &[], losses)
}

fn state_from_v1(state: &TaskState, losses: &mut Losses) -> Value {
    if let TaskState::Unknown(_) = state {
        losses.add("state", "0.3 has no such state; it is written unchanged");
    }
    state_name(state).into()
}
