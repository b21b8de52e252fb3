//! What can happen to a task.

use std::fmt::Write as _;

use bridge_protocol::a2a::{
    Artifact, Message, Metadata, StreamResponse, TaskArtifactUpdateEvent, TaskStatus,
    TaskStatusUpdateEvent,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Seq;
use crate::caller::Caller;

/// One thing that happened to a task: the closed set that everything else is computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// It came to be. The first event of every task, and of no task a later one.
    Created(Created),
    /// The caller said something.
    Message(Message),
    /// The agent said something. What it is for is told by what follows, so streams do not show it yet; the task
    /// as it stands does.
    Said(Message),
    /// A turn waits for the agent: it starts when those before it have ended, after a restart too.
    #[serde(rename_all = "camelCase")]
    TurnQueued {
        /// Counts the task's turns, from 1.
        turn: u64,
        /// The message that the turn answers.
        message_id: String,
        /// Whether the caller named the message's context; unknown of turns that older programs logged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        names_context: Option<bool>,
    },
    /// The agent is called. It may have seen the message from here on, so it is not called again. It comes once more,
    /// with a reference, when an agent outside of this process is known to have the message.
    #[serde(rename_all = "camelCase")]
    TurnStarted {
        /// The turn.
        turn: u64,
        /// Until when an agent outside of this process may still answer; absent for one inside, whose
        /// turn dies with the process.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "optional_millis"
        )]
        open_until: Option<Timestamp>,
        /// By what it is known that the agent has the message, in the agent's own terms.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<Metadata>,
    },
    /// The agent has answered, failed, or will not be waited for any longer; or a queued turn was given
    /// up.
    TurnEnded {
        /// The turn.
        turn: u64,
    },
    /// The task stands differently.
    Status {
        /// How. The store sets its timestamp to the append's time.
        status: TaskStatus,
        /// Free-form data, merged into the task's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// The task produced something.
    #[serde(rename_all = "camelCase")]
    Artifact {
        /// The artifact, or a piece of it.
        artifact: Artifact,
        /// Its parts are added to those of the artifact of the same id; otherwise they replace it.
        append: bool,
        /// No further piece follows.
        last_chunk: bool,
        /// Free-form data about this event; no part of the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// Free-form data, merged into the task's.
    #[serde(rename_all = "camelCase")]
    Metadata {
        /// The entries that are new or other.
        metadata: Metadata,
        /// What it tells the change of, if it does: streams show that, with the status as it stands then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revised: Option<Revised>,
    },
}

/// A message of the agent's that is not as it was. The log keeps what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revised {
    /// Which one.
    pub message_id: String,
    /// What stands in its place; none if it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Whether streams do not show it: they have not shown the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_quiet: bool,
}

/// How a task came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The agent that works on it, by the name under which it is hosted.
    pub agent: String,
    /// To whom it belongs: the caller of the append.
    pub owner: Caller,
    /// The conversation that it belongs to.
    pub context_id: String,
    /// The id that the client chose for it (A2A 0.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Free-form data about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its number in the task.
    pub seq: Seq,
    /// When it was appended, in milliseconds.
    pub time: Timestamp,
    /// What happened.
    pub event: Event,
}

impl Event {
    /// Whether something was said or shown by it: what a client must have seen to know how the task stands.
    pub(crate) fn is_news(&self) -> bool {
        match self {
            Self::Message(_) | Self::Status { .. } | Self::Artifact { .. } => true,
            Self::Metadata { revised, .. } => revised.as_ref().is_some_and(|one| !one.is_quiet),
            Self::Created(_)
            | Self::Said(_)
            | Self::TurnQueued { .. }
            | Self::TurnStarted { .. }
            | Self::TurnEnded { .. } => false,
        }
    }

    /// What streams show of it (specification 3.1.2): nothing, unless a status, an artifact or a message
    /// changed. `present` is the status that the task has then.
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
            Self::Metadata {
                metadata,
                revised: Some(Revised {
                    is_quiet: false, ..
                }),
            } => Some(update(present.clone(), Some(metadata))),
            Self::Artifact {
                artifact,
                append,
                last_chunk,
                metadata,
            } => Some(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata,
                extra: Metadata::new(),
            })),
            Self::Created(_)
            | Self::Message(_)
            | Self::Said(_)
            | Self::TurnQueued { .. }
            | Self::TurnStarted { .. }
            | Self::TurnEnded { .. }
            | Self::Metadata { .. } => None,
        }
    }
}

/// The time without what the store does not keep: milliseconds are what A2A timestamps have
/// (specification 5.6.1).
pub(crate) fn in_millis(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// The time as tasks show it (specification 5.6.1).
pub(crate) fn shown_time(time: Timestamp) -> String {
    let mut shown = String::with_capacity("2026-01-01T00:00:00.000Z".len());
    // Writing to a string cannot fail.
    let _ = write!(shown, "{time:.3}");
    shown
}

/// Times are kept as milliseconds since 1970.
pub(crate) mod millis {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(time.as_millisecond())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        Timestamp::from_millisecond(i64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Like [`millis`], for a time that may be absent.
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
