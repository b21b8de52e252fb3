//! Writes ProtoJSON of 0.3.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    a2a::{
        Artifact, Content, Message, Metadata, Part, Role, Task, TaskArtifactUpdateEvent, TaskState,
        TaskStatus, TaskStatusUpdateEvent,
    },
    dialect::{
        Losses,
        object::Object,
        v0_3::{data, labels},
    },
};

/// The reason given when a field is left out.
const LEFT_OUT: &str = "ProtoJSON of 0.3 has no such field, and its readers refuse those that they do \
                        not know, so it was left out";

/// Writes a message.
pub fn message_from_v1(message: &Message, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("messageId", message.message_id.as_str());
    object.some("contextId", message.context_id.clone());
    object.some("taskId", message.task_id.clone());
    object.put("role", role(&message.role, losses));
    let content = losses.each("parts", &message.parts, part_from_v1);
    object.put("content", content);
    object.some("metadata", message.metadata.clone());
    object.list("extensions", message.extensions.clone());
    if !message.reference_task_ids.is_empty() {
        losses.add("referenceTaskIds", LEFT_OUT);
    }
    known(object, &message.extra, losses)
}

fn role(role: &Role, losses: &mut Losses) -> &'static str {
    match role {
        Role::User => "ROLE_USER",
        Role::Agent => "ROLE_AGENT",
        Role::Unspecified => "ROLE_UNSPECIFIED",
        Role::Unknown(_) => {
            losses.add("role", "0.3 has no such role; it is written as unspecified");
            "ROLE_UNSPECIFIED"
        }
    }
}

/// Writes a part.
pub(super) fn part_from_v1(part: &Part, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    let mut metadata = part.metadata.clone();
    let is_file = matches!(part.content, Content::Raw(_) | Content::Url(_));
    match &part.content {
        Content::Text(text) => object.put("text", text.as_str()),
        Content::Raw(bytes) => {
            // The SDKs for Python, Java and Go hold the content as base64 already, and expect it so.
            let content = BASE64_STANDARD.encode(BASE64_STANDARD.encode(bytes));
            object.put("file", file(part, "fileWithBytes", &content));
        }
        Content::Url(url) => object.put("file", file(part, "fileWithUri", url)),
        Content::Data(data) => {
            let (data, marked) = data::wrap(data, metadata, losses);
            object.put("data", json!({ "data": data }));
            metadata = marked;
        }
        Content::Unknown => {
            losses.add("", "0.3 has no part of this kind; it is written as no text");
            object.put("text", "");
        }
    }
    if !is_file {
        labels::add(part, &mut metadata, losses);
    }
    object.some("metadata", metadata);
    known(object, &part.extra, losses)
}

fn file(part: &Part, place: &str, content: &str) -> Value {
    let mut file = Object::default();
    file.put(place, content);
    file.some("name", part.filename.clone());
    file.some("mimeType", part.media_type.clone());
    file.finish(&Metadata::new(), &[], &mut Losses::new())
}

/// Writes a task.
pub fn task_from_v1(task: &Task, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("id", task.id.as_str());
    object.put("contextId", task.context_id.as_deref().unwrap_or_default());
    let status = losses.inside("status", |losses| status_from_v1(&task.status, losses));
    object.put("status", status);
    object.list("artifacts", losses.each("artifacts", &task.artifacts, artifact_from_v1));
    object.list("history", losses.each("history", &task.history, message_from_v1));
    object.some("metadata", task.metadata.clone());
    known(object, &task.extra, losses)
}

/// Writes a status.
pub(super) fn status_from_v1(status: &TaskStatus, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("state", state(&status.state, losses));
    let message = status.message.as_ref();
    let message =
        message.map(|message| losses.inside("message", |losses| message_from_v1(message, losses)));
    object.some("message", message);
    object.some("timestamp", status.timestamp.clone());
    known(object, &status.extra, losses)
}

fn state(state: &TaskState, losses: &mut Losses) -> &'static str {
    match state {
        TaskState::Unspecified => "TASK_STATE_UNSPECIFIED",
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        // Spelled with two l in 0.3 only.
        TaskState::Canceled => "TASK_STATE_CANCELLED",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        TaskState::Unknown(_) => {
            losses.add("state", "0.3 has no such state; it is written as unspecified");
            "TASK_STATE_UNSPECIFIED"
        }
    }
}

/// Writes an artifact.
pub(super) fn artifact_from_v1(artifact: &Artifact, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("artifactId", artifact.artifact_id.as_str());
    object.some("name", artifact.name.clone());
    object.some("description", artifact.description.clone());
    object.put("parts", losses.each("parts", &artifact.parts, part_from_v1));
    object.some("metadata", artifact.metadata.clone());
    object.list("extensions", artifact.extensions.clone());
    known(object, &artifact.extra, losses)
}

/// Writes a change of status. `is_last` tells the client that no further event follows.
pub fn status_update_from_v1(
    update: &TaskStatusUpdateEvent,
    is_last: bool,
    losses: &mut Losses,
) -> Value {
    let mut object = Object::default();
    object.put("taskId", update.task_id.as_str());
    object.put("contextId", update.context_id.as_str());
    let status = losses.inside("status", |losses| status_from_v1(&update.status, losses));
    object.put("status", status);
    object.put("final", is_last);
    object.some("metadata", update.metadata.clone());
    known(object, &update.extra, losses)
}

/// Writes an artifact, or a piece of one.
pub fn artifact_update_from_v1(update: &TaskArtifactUpdateEvent, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("taskId", update.task_id.as_str());
    object.put("contextId", update.context_id.as_str());
    let artifact = losses.inside("artifact", |losses| artifact_from_v1(&update.artifact, losses));
    object.put("artifact", artifact);
    object.put("append", update.append);
    object.put("lastChunk", update.last_chunk);
    object.some("metadata", update.metadata.clone());
    known(object, &update.extra, losses)
}

/// Writes an object without unknown fields, which its readers would refuse.
pub(super) fn known(object: Object, extra: &Metadata, losses: &mut Losses) -> Value {
    for key in extra.keys() {
        losses.add(key, LEFT_OUT);
    }
    object.finish(&Metadata::new(), &[], losses)
}
