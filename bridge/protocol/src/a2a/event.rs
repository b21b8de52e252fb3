//! The results of operations: objects, and the events of streams (specification 4.2, 3.2.2, 3.2.3).

use alloc::string::String;
use core::borrow::Borrow;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::{Artifact, Message, Metadata, Task, TaskStatus};
use crate::wire::{FieldError, Fields, Schemas, Wire, object};

object! {
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

object! {
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
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most answers are tasks")]
pub enum SendMessageResponse<T = Task> {
    /// A task in its current state.
    Task(T),
    /// A message without a task.
    Message(Message),
}

/// One item of a stream. `T` can be a shared task, as in [`SendMessageResponse`].
#[derive(Clone, Debug, PartialEq)]
pub enum StreamResponse<T = Task> {
    /// A task in its current state: the first item of most streams.
    Task(T),
    /// A message without a task: the only item of its stream.
    Message(Message),
    /// A change of status.
    StatusUpdate(TaskStatusUpdateEvent),
    /// A new artifact or a piece of one.
    ArtifactUpdate(TaskArtifactUpdateEvent),
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

impl Wire for SendMessageResponse {
    fn read(value: Value) -> Result<Self, FieldError> {
        let mut fields = Fields::of(value)?;
        match (fields.optional("task")?, fields.optional("message")?) {
            (Some(task), None) => Ok(Self::Task(task)),
            (None, Some(message)) => Ok(Self::Message(message)),
            (None, None) => Err(FieldError::new("one of task, message", "neither")),
            (Some(_), Some(_)) => Err(FieldError::new("one of task, message", "both")),
        }
    }

    fn describe(schemas: &mut Schemas) -> Value {
        let members = [
            ("task", Task::describe(schemas)),
            ("message", Message::describe(schemas)),
        ];
        schemas.one_of("SendMessageResponse", &members)
    }
}

impl Wire for StreamResponse {
    fn read(value: Value) -> Result<Self, FieldError> {
        const KINDS: &str = "exactly one of task, message, statusUpdate, artifactUpdate";
        let mut fields = Fields::of(value)?;
        let items = (
            fields.optional("task")?,
            fields.optional("message")?,
            fields
                .either("statusUpdate", "status_update")
                .optional("statusUpdate")?,
            fields
                .either("artifactUpdate", "artifact_update")
                .optional("artifactUpdate")?,
        );
        match items {
            (Some(task), None, None, None) => Ok(Self::Task(task)),
            (None, Some(message), None, None) => Ok(Self::Message(message)),
            (None, None, Some(update), None) => Ok(Self::StatusUpdate(update)),
            (None, None, None, Some(update)) => Ok(Self::ArtifactUpdate(update)),
            (None, None, None, None) => Err(FieldError::new(KINDS, "none of them")),
            _ => Err(FieldError::new(KINDS, "several of them")),
        }
    }

    fn describe(schemas: &mut Schemas) -> Value {
        let members = [
            ("task", Task::describe(schemas)),
            ("message", Message::describe(schemas)),
            ("statusUpdate", TaskStatusUpdateEvent::describe(schemas)),
            ("artifactUpdate", TaskArtifactUpdateEvent::describe(schemas)),
        ];
        schemas.one_of("StreamResponse", &members)
    }
}

/// Serializes an object with one member, as ProtoJSON writes a `oneof`.
fn tagged<S: Serializer>(
    serializer: S,
    key: &str,
    value: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

impl<T: Borrow<Task>> Serialize for SendMessageResponse<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Task(task) => tagged(serializer, "task", task.borrow()),
            Self::Message(message) => tagged(serializer, "message", message),
        }
    }
}

impl<T: Borrow<Task>> Serialize for StreamResponse<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Task(task) => tagged(serializer, "task", task.borrow()),
            Self::Message(message) => tagged(serializer, "message", message),
            Self::StatusUpdate(update) => tagged(serializer, "statusUpdate", update),
            Self::ArtifactUpdate(update) => tagged(serializer, "artifactUpdate", update),
        }
    }
}

object!(@deserialize SendMessageResponse);
object!(@deserialize StreamResponse);
