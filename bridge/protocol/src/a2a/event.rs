//! The results of operations: objects, and the events of streams (specification 4.2, 3.2.2, 3.2.3).

use alloc::string::String;
use core::borrow::Borrow;

use serde::{Serialize, Serializer};

use super::{Artifact, Message, Metadata, Task, TaskStatus};
use crate::wire::one_of;

proto_message! {
    /// A task's status changed.
    pub struct TaskStatusUpdateEvent {
        /// The task's id.
        required task_id: String = "taskId",
        /// The id of the task's context.
        always context_id: String = "contextId",
        /// The new status.
        required status: TaskStatus = "status",
        /// Free-form data about the event.
        optional metadata: Option<Metadata> = "metadata",
    }
}

proto_message! {
    /// A task produced an artifact, or a further piece of one.
    pub struct TaskArtifactUpdateEvent {
        /// The task's id.
        required task_id: String = "taskId",
        /// The id of the task's context.
        always context_id: String = "contextId",
        /// The artifact, or a piece of it.
        required artifact: Artifact = "artifact",
        /// Whether the parts are added to the artifact with the same id; otherwise it is replaced.
        optional append: bool = "append",
        /// Whether this is the last piece.
        optional last_chunk: bool = "lastChunk",
        /// Free-form data about the event.
        optional metadata: Option<Metadata> = "metadata",
    }
}

/// The result of SendMessage. `T` can be a shared task, such as an `Arc<Task>`, if the result is only written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", bound(serialize = "T: Borrow<Task>"))]
#[expect(clippy::large_enum_variant, reason = "most answers are tasks")]
pub enum SendMessageResponse<T = Task> {
    /// A task in its current state.
    Task(#[serde(serialize_with = "shared")] T),
    /// A message without a task.
    Message(Message),
}

/// One item of a stream. `T` can be a shared task, as in [`SendMessageResponse`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", bound(serialize = "T: Borrow<Task>"))]
pub enum StreamResponse<T = Task> {
    /// A task in its current state: the first item of most streams.
    Task(#[serde(serialize_with = "shared")] T),
    /// A message without a task: the only item of its stream.
    Message(Message),
    /// A change of status.
    StatusUpdate(TaskStatusUpdateEvent),
    /// A new artifact or a piece of one.
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

impl<T> SendMessageResponse<T> {
    /// Replaces the task, if the result is one.
    pub fn map_task<U>(self, map: impl FnOnce(T) -> U) -> SendMessageResponse<U> {
        match self {
            Self::Task(task) => SendMessageResponse::Task(map(task)),
            Self::Message(message) => SendMessageResponse::Message(message),
        }
    }
}

impl<T> StreamResponse<T> {
    /// Replaces the task, if the item is one.
    pub fn map_task<U>(self, map: impl FnOnce(T) -> U) -> StreamResponse<U> {
        match self {
            Self::Task(task) => StreamResponse::Task(map(task)),
            Self::Message(message) => StreamResponse::Message(message),
            Self::StatusUpdate(update) => StreamResponse::StatusUpdate(update),
            Self::ArtifactUpdate(update) => StreamResponse::ArtifactUpdate(update),
        }
    }
}

impl From<SendMessageResponse> for StreamResponse {
    fn from(response: SendMessageResponse) -> Self {
        match response {
            SendMessageResponse::Task(task) => Self::Task(task),
            SendMessageResponse::Message(message) => Self::Message(message),
        }
    }
}

one_of! {
    SendMessageResponse, "one of task, message", "neither", "both" {
        Task(Task) = "task",
        Message(Message) = "message",
    }
}

one_of! {
    StreamResponse, "exactly one of task, message, statusUpdate, artifactUpdate", "none of them", "several of them" {
        Task(Task) = "task",
        Message(Message) = "message",
        StatusUpdate(TaskStatusUpdateEvent) = "statusUpdate" or "status_update",
        ArtifactUpdate(TaskArtifactUpdateEvent) = "artifactUpdate" or "artifact_update",
    }
}

/// Writes a task that may be shared.
fn shared<T: Borrow<Task>, S: Serializer>(task: &T, serializer: S) -> Result<S::Ok, S::Error> {
    task.borrow().serialize(serializer)
}
