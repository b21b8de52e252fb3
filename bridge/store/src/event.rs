//! The events of a task.

use std::{fmt::Write as _, sync::Arc};

use bridge_protocol::{
    a2a::{
        Artifact, Message, Metadata, StreamResponse, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
    wire::Wire,
};
use bridge_translate::events;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Seq;
use crate::caller::Caller;

/// An event of a task. Everything else about the task is computed from its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// The task was created. This is always the first event, and never a later one.
    Created(Created),
    /// The caller sent a message.
    Message(Message),
    /// The agent sent a message. A later event decides whether it is a status or an answer, so streams do not show it yet,
    /// but the task does.
    Said(Message),
    /// A turn was queued. It starts when the turns before it have ended, also after a restart.
    #[serde(rename_all = "camelCase")]
    TurnQueued {
        /// The turn's number in the task, starting with 1.
        turn: u64,
        /// The id of the message that the turn answers.
        message_id: String,
        /// Whether the caller named the message's context; absent in logs of older programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        names_context: Option<bool>,
        /// The span of the message in the form of the header `traceparent` (W3C Trace Context), if spans are exported. It is
        /// stored because the turn may run in another process, or after a restart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<Arc<str>>,
    },
    /// The agent is being called. It may have seen the message from now on, so it is not called again. The event is
    /// repeated with a reference once it is known that an agent outside this process has received the message.
    #[serde(rename_all = "camelCase")]
    TurnStarted {
        /// The turn's number.
        turn: u64,
        /// The time until which an agent outside this process may answer; absent for an agent inside, whose
        /// turn ends with the process.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        open_until: Option<Timestamp>,
        /// The agent's own id of the message, which proves that the agent has received it.
        #[serde(
            default,
            deserialize_with = "Wire::read_from",
            skip_serializing_if = "Option::is_none"
        )]
        reference: Option<Metadata>,
    },
    /// The turn ended: the agent answered, failed or timed out, or a queued turn was given up.
    TurnEnded {
        /// The turn's number.
        turn: u64,
    },
    /// The task's status changed.
    Status {
        /// The new status. The store sets its timestamp to the append's time.
        status: TaskStatus,
        /// Free-form data, merged into the task's metadata.
        #[serde(
            default,
            deserialize_with = "Wire::read_from",
            skip_serializing_if = "Option::is_none"
        )]
        metadata: Option<Metadata>,
    },
    /// The agent produced an artifact or a piece of one.
    #[serde(rename_all = "camelCase")]
    Artifact {
        /// The artifact, or a piece of it.
        artifact: Artifact,
        /// Whether the parts are appended to the artifact with the same id. Otherwise the artifact is replaced.
        append: bool,
        /// Whether this is the last piece.
        last_chunk: bool,
        /// Free-form data about this event; not part of the task.
        #[serde(
            default,
            deserialize_with = "Wire::read_from",
            skip_serializing_if = "Option::is_none"
        )]
        metadata: Option<Metadata>,
    },
    /// Free-form data was merged into the task's metadata.
    #[serde(rename_all = "camelCase")]
    Metadata {
        /// The entries that are new or changed.
        metadata: Metadata,
        /// The message whose change this event reports, if any. Streams show it with the current status.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revised: Option<Revised>,
    },
}

/// A change of an earlier message of the agent. The log keeps the earlier version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revised {
    /// The id of the changed message.
    pub message_id: String,
    /// The new version; `None` if the message was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Whether streams leave the change out because they have not shown the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_quiet: bool,
}

/// The creation of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The name of the agent that works on the task.
    pub agent: Arc<str>,
    /// The task's owner: the caller of the append.
    pub owner: Caller,
    /// The conversation that the task belongs to.
    pub context_id: Arc<str>,
    /// The id that the client chose for the task (A2A 0.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Arc<str>>,
    /// Free-form data about the task.
    #[serde(
        default,
        deserialize_with = "Wire::read_from",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Metadata>,
}

/// An event with its position in the log. Backends can store it as it is, with [`encoded`](crate::encoded).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredEvent {
    /// The event's number in the task.
    pub seq: Seq,
    /// The time of the append, in milliseconds.
    #[serde(with = "millis")]
    pub time: Timestamp,
    /// The event.
    pub event: Event,
}

impl Event {
    /// Returns whether the event changes the task, and not only its turns.
    pub fn changes_task(&self) -> bool {
        let is_of_turn = matches!(
            self,
            Self::TurnQueued { .. } | Self::TurnStarted { .. } | Self::TurnEnded { .. }
        );
        !is_of_turn
    }

    /// Returns whether the event changes the content of the task that clients see.
    pub fn is_news(&self) -> bool {
        match self {
            Self::Message(_) | Self::Status { .. } | Self::Artifact { .. } => true,
            Self::Metadata { metadata, revised } => match revised {
                Some(revised) => !revised.is_quiet,
                None => events::reported(metadata).is_some(),
            },
            _ => false,
        }
    }

    /// Converts the event to an item of a stream (specification 3.1.2). Returns `None` unless the event changes a status, an
    /// artifact or a message, or reports an activity of the bot. `present` is the task's status after the event.
    pub fn into_stream_response(
        self,
        task_id: String,
        context_id: String,
        present: &TaskStatus,
    ) -> Option<StreamResponse> {
        let update = |status, metadata| {
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task_id.clone(),
                context_id: context_id.clone(),
                status,
                metadata,
                extra: Metadata::new(),
            })
        };
        match self {
            Self::Status { status, metadata } => Some(update(status, metadata)),
            Self::Metadata { metadata, revised: Some(Revised { is_quiet: false, .. }) } => {
                Some(update(present.clone(), Some(metadata)))
            }
            Self::Metadata { metadata, revised: None } if events::reported(&metadata).is_some() => {
                // The message is left out: clients would show the question of a waiting task twice, and the message of a
                // working task may become an answer, which streams show at the end.
                let status = TaskStatus { message: None, ..present.clone() };
                Some(update(status, Some(metadata)))
            }
            Self::Artifact { artifact, append, last_chunk, metadata } => {
                Some(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id,
                    context_id,
                    artifact,
                    append,
                    last_chunk,
                    metadata,
                    extra: Metadata::new(),
                }))
            }
            _ => None,
        }
    }
}

/// Truncates a time to milliseconds, the precision of A2A timestamps (specification 5.6.1).
pub(crate) fn in_millis(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// Formats a time as A2A timestamps are (specification 5.6.1).
pub(crate) fn timestamp(time: Timestamp) -> String {
    let mut shown = String::with_capacity("2026-01-01T00:00:00.000Z".len());
    // Writing to a string cannot fail.
    let _ = write!(shown, "{time:.3}");
    shown
}

/// Serializes times as milliseconds since 1970.
pub mod millis {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    /// Writes the time as milliseconds since 1970.
    ///
    /// # Errors
    /// If the serializer fails.
    pub fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(time.as_millisecond())
    }

    /// Reads a time from milliseconds since 1970.
    ///
    /// # Errors
    /// If there is no whole number, or the time is outside of the range of [`Timestamp`].
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        Timestamp::from_millisecond(i64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Serializes times that may be absent, as [`millis`] does.
pub(crate) mod optional_millis {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(Timestamp::as_millisecond).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let millis = Option::<i64>::deserialize(from)?;
        let time = millis.map(Timestamp::from_millisecond).transpose();
        time.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decoded_value, encoded};

    #[test]
    fn a_stored_event_is_a_row_of_a_backend() {
        let time = Timestamp::from_millisecond(1_234).unwrap();
        let stored = StoredEvent { seq: 3, time, event: Event::TurnEnded { turn: 1 } };
        let row = encoded(&stored);
        assert_eq!(row, br#"{"seq":3,"time":1234,"event":{"turnEnded":{"turn":1}}}"#);
        assert_eq!(decoded_value::<StoredEvent>("an event", &row).unwrap(), stored);
    }
}
