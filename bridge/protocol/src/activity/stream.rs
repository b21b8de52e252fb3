//! The entity `streaminfo`: which piece of which stream an activity is.

use alloc::string::String;

use super::Entity;
use crate::wire::{Wire, object, open_enum, to_object};

object! {
    /// What the entity `streaminfo` says.
    pub struct StreamInfo {
        /// What this piece is.
        required stream_type: StreamType = "streamType",
        /// The stream. Missing in the first piece where the channel chooses the id.
        optional stream_id: Option<String> = "streamId",
        /// Counts the pieces from one; missing in the final one.
        optional stream_sequence: Option<i32> = "streamSequence",
        /// How the stream ended.
        optional stream_result: Option<StreamResult> = "streamResult",
    }
}

open_enum! {
    /// What a piece of a stream is.
    pub enum StreamType, "a stream type such as streaming" {
        /// Says what the agent is doing; no part of the answer.
        Informative = "informative",
        /// The answer so far.
        Streaming = "streaming",
        /// The whole answer.
        Final = "final",
    }
}

open_enum! {
    /// How a stream ended.
    pub enum StreamResult, "a stream result such as success" {
        /// Well.
        Success = "success",
        /// It took too long.
        Timeout = "timeout",
        /// Badly.
        Error = "error",
    }
}

impl StreamInfo {
    /// The type of the entity.
    pub const KIND: &str = "streaminfo";

    /// Reads an entity, if it is one of these and says so in a way that can be understood.
    pub fn of(entity: &Entity) -> Option<Self> {
        if entity.kind != Self::KIND {
            return None;
        }
        Self::read(entity.extra.clone().into()).ok()
    }
}

impl From<&StreamInfo> for Entity {
    fn from(info: &StreamInfo) -> Self {
        Self::new(StreamInfo::KIND, to_object(info))
    }
}
