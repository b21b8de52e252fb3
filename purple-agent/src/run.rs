//! One evaluation as a client: the request, the work, the result.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::agent::{Outcome, PurpleAgent};

/// How an evaluation is asked for.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// What is said first.
    pub request: String,
    /// How long is waited for the first message, and for each further one that the policy waits for.
    pub wait: Duration,
    /// The policy begins when the messages pause for so long, even if none had connection details.
    pub pause: Duration,
    /// How long is waited for the result once the policy has ended.
    pub result: Duration,
    /// How A2A is spoken.
    pub a2a: bridge_client::Options,
}

/// What came of an evaluation.
#[derive(Debug)]
pub struct Report {
    /// How the agent's own work ended.
    pub outcome: Outcome,
    /// What the evaluator found.
    pub verdict: Verdict,
    /// The data of the artifact `Result`, or else of the last artifact that has data.
    pub result: Option<Value>,
    /// How many messages came.
    pub messages: u64,
}

/// What the evaluator found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The agent passed.
    Passed,
    /// It did not.
    Failed,
    /// The evaluator did not say.
    Unknown,
}

/// Why an evaluation could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The evaluator could not be spoken to.
    #[error("green: {0}")]
    Green(#[from] bridge_client::ClientError),
    /// It said nothing in time.
    #[error("no message came from {green} within {limit:?}")]
    NoMessage {
        /// The evaluator.
        green: Url,
        /// The limit.
        limit: Duration,
    },
    /// It gave no result in time.
    #[error("{green} gave no result within {limit:?} after the work had ended")]
    NoResult {
        /// The evaluator.
        green: Url,
        /// The limit.
        limit: Duration,
    },
}

/// What is told while an evaluation runs.
pub type Listener<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Asks the Green agent at `green` for an evaluation, works, and waits for the result.
pub async fn run(
    _green: &Url,
    _agent: &PurpleAgent,
    _settings: &RunSettings,
    _listener: Listener<'_>,
) -> Result<Report, RunError> {
    unimplemented!()
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            request: "ready for evaluation".to_owned(),
            wait: Duration::from_secs(60),
            pause: Duration::from_secs(2),
            result: Duration::from_secs(60),
            a2a: bridge_client::Options::default(),
        }
    }
}
