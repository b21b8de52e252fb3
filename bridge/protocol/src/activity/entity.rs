//! Entities: structured information in an activity, such as `streaminfo`, which marks it as a piece of a stream.

use alloc::string::String;

use serde_json::Value;

use crate::wire::{Metadata, Wire, object, open_enum, to_object};

object! {
    /// An object whose type names its vocabulary; its other members are in `extra`.
    pub struct Entity {
        /// The type: `mention`, `streaminfo`, `https://schema.org/Message` and others.
        required kind: String = "type",
    }
}

impl Entity {
    /// Creates an entity of this type.
    pub fn new(kind: impl Into<String>, members: Metadata) -> Self {
        Self { kind: kind.into(), extra: members }
    }

    /// Returns the stream information, if this is a valid `streaminfo`.
    pub fn stream_info(&self) -> Option<StreamInfo> {
        if self.kind != StreamInfo::KIND {
            return None;
        }
        StreamInfo::read(self.extra.clone().into()).ok()
    }

    /// Returns the cited sources, if this is a message of schema.org with citations.
    pub fn citations(&self) -> &[Value] {
        let is_message = self.kind == "https://schema.org/Message";
        let citations = self.extra.get("citation").and_then(Value::as_array);
        match citations.filter(|_| is_message) {
            Some(citations) => citations,
            None => &[],
        }
    }
}

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
