//! The entity `streaminfo`, which marks an activity as a piece of a stream.

use alloc::string::String;

use serde_json::Value;

use super::Entity;
use crate::wire::{Wire, object, open_enum, to_object};

object! {
    /// The content of the entity `streaminfo`.
    pub struct StreamInfo {
        /// The kind of this piece.
        required stream_type: StreamType = "streamType",
        /// The id of the stream; missing in the first piece if the channel assigns the id.
        optional stream_id: Option<String> = "streamId",
        /// The number of the piece, starting with 1; missing in the final one.
        optional stream_sequence: Option<i32> = "streamSequence",
        /// The result of the stream.
        optional stream_result: Option<StreamResult> = "streamResult",
    }
}

open_enum! {
    /// The kind of a piece of a stream.
    pub enum StreamType, "a stream type such as streaming" {
        /// The agent's progress; not part of the answer.
        Informative = "informative",
        /// The answer so far.
        Streaming = "streaming",
        /// The whole answer.
        Final = "final",
    }
}

open_enum! {
    /// The result of a stream.
    pub enum StreamResult, "a stream result such as success" {
        /// The stream is complete.
        Success = "success",
        /// The stream took too long.
        Timeout = "timeout",
        /// The stream failed.
        Error = "error",
    }
}

impl StreamInfo {
    /// The type of the entity.
    pub const KIND: &str = "streaminfo";

    /// Reads an entity, if it is a valid `streaminfo`.
    pub fn of(entity: &Entity) -> Option<Self> {
        if entity.kind != Self::KIND {
            return None;
        }
        Self::read(entity.extra.clone().into()).ok()
    }

    /// Reads `channelData`, where bots on the Teams AI library have it, too. botbuilder for JavaScript sends their
    /// entities without content.
    pub(super) fn in_channel_data(data: &Value) -> Option<Self> {
        let fields = data.as_object()?;
        let own = ["streamType", "streamId", "streamSequence", "streamResult"];
        let own = own.map(|name| fields.get(name).map(|value| (name.into(), value.clone())));
        Self::read(Value::Object(own.into_iter().flatten().collect())).ok()
    }
}

impl From<&StreamInfo> for Entity {
    fn from(info: &StreamInfo) -> Self {
        Self::new(StreamInfo::KIND, to_object(info))
    }
}
