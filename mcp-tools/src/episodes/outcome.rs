//! What became of an episode.

use jiff::Timestamp;
use rmcp::model::JsonObject;
use serde::{Deserialize, Serialize};

use crate::environments::Score;

/// An episode that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the environment's state was worth at the end.
    pub score: Score,
    /// How many calls of the environment's tools were made, refused ones included.
    pub steps: u32,
    /// What ended it.
    pub ended: Ended,
    /// How the environment broke, if it did. The score is 0 then, and says nothing about the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The calls in their order, the submission included; of very many only the first.
    pub trace: Vec<TracedCall>,
}

impl Outcome {
    /// Whether the agent said that it was done.
    pub fn submitted(&self) -> bool {
        self.ended == Ended::Submitted
    }
}

/// What ended an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The agent submitted.
    Submitted,
    /// The agent wanted one step more than it may take.
    StepLimit,
    /// Its time was over.
    TimeLimit,
    /// The evaluator closed it.
    Closed,
    /// The environment broke: it panicked, it could not take an answer or tell the score, or it took too
    /// long to do so.
    EnvironmentFailed,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedCall {
    /// The tool's name, as it was called.
    pub tool: String,
    /// What it was called with; arguments of more than 4 KiB are left out.
    pub arguments: JsonObject,
    /// Whether the result was an error.
    pub is_error: bool,
    /// When it was called.
    pub at: Timestamp,
}
