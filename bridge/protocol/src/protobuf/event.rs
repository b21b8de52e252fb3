//! The answers of an agent: whole objects, and the events of a stream.

use super::{Proto, field::plain, v1};
use crate::{
    a2a::{SendMessageResponse, StreamResponse, Task},
    wire::FieldError,
};
use core::borrow::Borrow;

impl<T: Borrow<Task> + From<Task>> Proto<v1::SendMessageResponse> for SendMessageResponse<T> {
    fn to_proto(&self) -> v1::SendMessageResponse {
        use v1::send_message_response::Payload;
        let payload = match self {
            Self::Task(task) => Payload::Task(task.borrow().to_proto()),
            Self::Message(message) => Payload::Message(message.to_proto()),
        };
        v1::SendMessageResponse { payload: Some(payload) }
    }

    fn from_proto(proto: v1::SendMessageResponse) -> Result<Self, FieldError> {
        use v1::send_message_response::Payload;
        match proto.payload {
            Some(Payload::Task(task)) => {
                plain::<Task, _>(task, "task").map(T::from).map(Self::Task)
            }
            Some(Payload::Message(message)) => plain(message, "message").map(Self::Message),
            None => Err(FieldError::new("one of task, message", "neither")),
        }
    }
}

impl<T: Borrow<Task> + From<Task>> Proto<v1::StreamResponse> for StreamResponse<T> {
    fn to_proto(&self) -> v1::StreamResponse {
        use v1::stream_response::Payload;
        let payload = match self {
            Self::Task(task) => Payload::Task(task.borrow().to_proto()),
            Self::Message(message) => Payload::Message(message.to_proto()),
            Self::StatusUpdate(update) => Payload::StatusUpdate(update.to_proto()),
            Self::ArtifactUpdate(update) => Payload::ArtifactUpdate(update.to_proto()),
        };
        v1::StreamResponse { payload: Some(payload) }
    }

    fn from_proto(proto: v1::StreamResponse) -> Result<Self, FieldError> {
        use v1::stream_response::Payload;
        match proto.payload {
            Some(Payload::Task(task)) => {
                plain::<Task, _>(task, "task").map(T::from).map(Self::Task)
            }
            Some(Payload::Message(message)) => plain(message, "message").map(Self::Message),
            Some(Payload::StatusUpdate(update)) => {
                plain(update, "statusUpdate").map(Self::StatusUpdate)
            }
            Some(Payload::ArtifactUpdate(update)) => {
                plain(update, "artifactUpdate").map(Self::ArtifactUpdate)
            }
            None => Err(FieldError::new(
                "exactly one of task, message, statusUpdate, artifactUpdate",
                "none of them",
            )),
        }
    }
}
