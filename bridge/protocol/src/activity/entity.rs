//! Entities: structured information in an activity.

use alloc::string::String;
use serde_json::Value;

use super::StreamInfo;
use crate::wire::{Metadata, object};

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
        StreamInfo::of(self)
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
