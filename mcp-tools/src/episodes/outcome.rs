//! The outcome of an episode.

use jiff::Timestamp;
use rmcp::model::JsonObject;
use serde::{Deserialize, Serialize};

use crate::environments::Score;

/// The outcome of an episode that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The score of the environment's state at the end.
    pub score: Score,
    /// The number of calls of the environment's tools, refused ones included.
    pub steps: u32,
    /// Whether a request with the episode's token arrived.
    #[serde(default)]
    pub reached: bool,
    /// The reason for the end.
    pub ended: EndReason,
    /// The failure of the environment, if it failed. The score is then 0 and says nothing about the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The calls in their order, the submission included; only the first 1000 are recorded.
    pub trace: Vec<TracedCall>,
}

impl Outcome {
    /// Returns whether the agent submitted.
    pub fn submitted(&self) -> bool {
        self.ended == EndReason::Submitted
    }
}

/// The reason why an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The agent submitted.
    Submitted,
    /// The agent called a tool after its last allowed step.
    StepLimit,
    /// The time limit passed.
    TimeLimit,
    /// The evaluator closed it.
    Closed,
    /// The environment failed: it panicked, returned an error from taking the answer or from scoring, or took too
    /// long to do so.
    EnvironmentFailed,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedCall {
    /// The tool's name as the agent wrote it.
    pub tool: String,
    /// The arguments; arguments of more than 4 KiB are omitted.
    pub arguments: JsonObject,
    /// Whether the result was an error.
    pub is_error: bool,
    /// The time of the call.
    pub at: Timestamp,
}
