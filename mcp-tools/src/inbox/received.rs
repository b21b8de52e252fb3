//! What is known of a message that was received.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its place among all that were received, from 1.
    pub number: u64,
    /// The id its sender gave it: `messageId`, absent where the sender gave none.
    pub message_id: Option<String>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Who sent it, in a word, such as `green`.
    pub from: String,
    /// What it holds; a message may hold several things.
    pub kinds: BTreeSet<Kind>,
    /// The message whole, as JSON: an A2A message, status, artifact or task.
    pub message: Value,
    /// Whether its sender was told that it arrived.
    pub acknowledged: bool,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What is to be done: an object with `task_id`, `benchmark` or `goal`.
    TaskInfo,
    /// How an MCP server is reached, readable or not.
    McpDetails,
    /// What became of it: an object with `score` or `reward`.
    Result,
    /// Words.
    Text,
    /// None of these.
    Other,
}

impl Kind {
    /// Each kind, in the order of their names in documents.
    pub const ALL: [Self; 5] = [
        Self::TaskInfo,
        Self::McpDetails,
        Self::Result,
        Self::Text,
        Self::Other,
    ];

    /// Its name in JSON.
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

/// What became of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It is new, and has this number.
    New(u64),
    /// It has been received before, with this number: its sender does not know yet that it arrived.
    Again(u64),
}

/// Which messages are wanted: those that fit all that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those that hold this.
    pub kind: Option<Kind>,
    /// Those that were acknowledged, or were not.
    pub acknowledged: Option<bool>,
    /// Those with a greater number.
    pub after: u64,
}

impl Filter {
    /// Whether a message fits all that is said.
    pub(super) fn fits(&self, received: &Received) -> bool {
        self.kind.is_none_or(|kind| received.kinds.contains(&kind))
            && self
                .acknowledged
                .is_none_or(|is| received.acknowledged == is)
            && received.number > self.after
    }
}
