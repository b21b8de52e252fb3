//! A received message and the filter for messages.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::{objects, texts};

/// A received message.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its number in the order of arrival, from 1.
    pub number: u64,
    /// The `messageId` that the sender gave it; absent if the sender gave none.
    pub message_id: Option<String>,
    /// The time of arrival.
    pub received_at: Timestamp,
    /// The sender's name, such as `green`.
    pub from: String,
    /// The kinds of content in the message.
    pub kinds: BTreeSet<Kind>,
    /// The whole message as JSON: an A2A message, status, artifact or task.
    pub message: Value,
    /// Whether the message was acknowledged to its sender.
    pub acknowledged: bool,
}

impl Received {
    /// Returns the texts in the message, a line each.
    pub fn text(&self) -> String {
        texts(&self.message).join("\n")
    }

    /// Returns the goal of the task description in the message.
    pub fn goal(&self) -> Option<&str> {
        objects(&self.message).into_iter().find_map(|object| object.get("goal")?.as_str())
    }
}

/// A kind of message content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A task description: an object with `task_id`, `benchmark` or `goal`.
    TaskInfo,
    /// MCP connection details, readable or not.
    McpDetails,
    /// A result: an object with `score` or `reward`.
    Result,
    /// Text.
    Text,
    /// Content of no other kind.
    Other,
}

impl Kind {
    /// All kinds, in the order in which documents list them.
    pub const ALL: [Self; 5] =
        [Self::TaskInfo, Self::McpDetails, Self::Result, Self::Text, Self::Other];

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskInfo => "task_info",
            Self::McpDetails => "mcp_details",
            Self::Result => "result",
            Self::Text => "text",
            Self::Other => "other",
        }
    }
}

/// The effect of receiving a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The message is new and has this number.
    New(u64),
    /// The message was received before, with this number: its sender does not know yet that it arrived.
    Duplicate(u64),
}

/// A filter for messages: a message matches if it meets all given conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only messages with this kind of content.
    pub kind: Option<Kind>,
    /// Only messages that were, or were not, acknowledged.
    pub acknowledged: Option<bool>,
    /// Only messages with a greater number.
    pub after: u64,
}

impl Filter {
    /// Returns whether a message meets all given conditions.
    pub(super) fn fits(&self, received: &Received) -> bool {
        self.kind.is_none_or(|kind| received.kinds.contains(&kind))
            && self.acknowledged.is_none_or(|is| received.acknowledged == is)
            && received.number > self.after
    }
}
