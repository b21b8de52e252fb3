//! Tasks, their states and artifacts (0.3, sections 6.1 to 6.3 and 6.7).

use serde_json::Value;

use super::{Form, message};
use crate::{
    a2a::{Artifact, Metadata, Task, TaskState, TaskStatus},
    dialect::{
        Losses,
        alike::{named_state, state_name, state_to_v1},
        object,
    },
    wire::{FieldError, Fields, Wire as _},
};

/// The name of a state in ProtoJSON, which 1.0 spells with one l.
const CANCELLED: &str = "TASK_STATE_CANCELLED";

/// Reads a task. An empty `contextId` counts as absent, because 0.3 requires the field and some servers have
/// no value.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value, form: Form) -> Result<Task, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("kind");
    Ok(Task {
        id: fields.required("id")?,
        context_id: fields.filled("contextId")?,
        status: fields.required_by("status", |status| status_to_v1(status, form))?,
        artifacts: fields.list_by("artifacts", |artifact| artifact_to_v1(artifact, form))?,
        history: fields.list_by("history", |message| message::to_v1(message, form))?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes a task.
pub fn from_v1(task: &Task, form: Form, losses: &mut Losses) -> Value {
    let mut object = form.object("task");
    object.put("id", task.id.as_str());
    object.put("contextId", task.context_id.as_deref().unwrap_or_default());
    let status = losses.inside("status", |losses| status_from_v1(&task.status, form, losses));
    object.put("status", status);
    let artifacts = losses.each("artifacts", &task.artifacts, |artifact, losses| {
        artifact_from_v1(artifact, form, losses)
    });
    object.list("artifacts", artifacts);
    let history = losses
        .each("history", &task.history, |message, losses| message::from_v1(message, form, losses));
    object.list("history", history);
    object.some("metadata", task.metadata.clone());
    object.finish(&task.extra, &[], losses)
}

/// Reads a status.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn status_to_v1(value: Value, form: Form) -> Result<TaskStatus, FieldError> {
    let state = |state: Value| match form {
        Form::JsonRpc => state_to_v1(state, named_state),
        Form::Proto if state == CANCELLED => Ok(TaskState::Canceled),
        Form::Proto => TaskState::read(state),
    };
    object::V0_3.status_to_v1(value, state, |message| message::to_v1(message, form))
}

/// Writes a status.
pub fn status_from_v1(status: &TaskStatus, form: Form, losses: &mut Losses) -> Value {
    let state = |state: &_, losses: &mut _| state_from_v1(state, form, losses).into();
    let message = |message: &_, losses: &mut _| message::from_v1(message, form, losses);
    form.dialect().status_from_v1(status, state, message, losses)
}

/// Reads an artifact.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn artifact_to_v1(value: Value, form: Form) -> Result<Artifact, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(Artifact {
        artifact_id: fields.required("artifactId")?,
        name: fields.filled("name")?,
        description: fields.filled("description")?,
        parts: form.parts_to_v1(&mut fields, "parts")?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes an artifact.
pub fn artifact_from_v1(artifact: &Artifact, form: Form, losses: &mut Losses) -> Value {
    let mut object = form.dialect().object();
    object.put("artifactId", artifact.artifact_id.as_str());
    object.some("name", artifact.name.clone());
    object.some("description", artifact.description.clone());
    object.put("parts", form.parts_from_v1(&artifact.parts, losses));
    object.some("metadata", artifact.metadata.clone());
    object.list("extensions", artifact.extensions.clone());
    object.finish(&artifact.extra, &[], losses)
}

fn state_from_v1<'s>(state: &'s TaskState, form: Form, losses: &mut Losses) -> &'s str {
    match (state, form) {
        (TaskState::Unknown(name), Form::JsonRpc) => {
            losses.add("state", "0.3 has no such state; it is written unchanged");
            name
        }
        (TaskState::Unknown(_), Form::Proto) => {
            losses.add("state", "0.3 has no such state; it is written as unspecified");
            TaskState::Unspecified.as_str()
        }
        (TaskState::Canceled, Form::Proto) => CANCELLED,
        (state, Form::JsonRpc) => state_name(state),
        (state, Form::Proto) => state.as_str(),
    }
}
