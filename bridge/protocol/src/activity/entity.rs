//! What an activity says about something, for programs.

use alloc::string::String;
use serde_json::Value;

use super::StreamInfo;
use crate::wire::{Metadata, object};

object! {
    /// An object of a type that names its vocabulary; its other members stand in `extra`.
    pub struct Entity {
        /// `mention`, `streaminfo`, `https://schema.org/Message` and others.
        required kind: String = "type",
    }
}

impl Entity {
    /// An entity of this type.
    pub fn new(kind: impl Into<String>, members: Metadata) -> Self {
        Self {
            kind: kind.into(),
            extra: members,
        }
    }

    /// What it says about a stream, if it is a `streaminfo` that can be understood.
    pub fn stream_info(&self) -> Option<StreamInfo> {
        StreamInfo::of(self)
    }

    /// The sources that it names, if it is a message of schema.org with citations.
    pub fn citations(&self) -> &[Value] {
        let is_message = self.kind == "https://schema.org/Message";
        let citations = self.extra.get("citation").and_then(Value::as_array);
        match citations.filter(|_| is_message) {
            Some(citations) => citations,
            None => &[],
        }
    }
}
