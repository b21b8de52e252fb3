//! The trait for a custom evaluator, with its results.

use async_trait::async_trait;
use bridge_protocol::a2a::{AgentCard, Message};
use serde_json::Value;

use super::{assess_error::AssessError, reporter::Reporter, request::AssessmentRequest};

/// An evaluator of agents. [`agent`](super::agent()) makes a green agent of it, which speaks A2A with runners such as
/// AgentBeats' and with participants that ask for an evaluation themselves.
///
/// Each method is called once for each task, in parallel for several tasks; its future is dropped when the
/// task is canceled.
#[async_trait]
pub trait Evaluator: Send + Sync + 'static {
    /// Describes the evaluator on its agent card. The given card has the agent's name and defaults for
    /// everything else.
    fn card(&self, card: AgentCard) -> AgentCard {
        card
    }

    /// Assesses the participants that a request names, as AgentBeats' runner sends it.
    ///
    /// # Errors
    /// If there is no result at all.
    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError>;

    /// Evaluates the sender of this message, such as a participant's "ready for evaluation".
    ///
    /// # Errors
    /// As for [`Evaluator::assess`]. An evaluator that only assesses others rejects the message.
    async fn welcome(
        &self,
        message: &Message,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        let _ = (message, reporter);
        Err(AssessError::Rejected(
            "expected one text or data part with {\"participants\": {ROLE: URL}, \"config\": {..}}"
                .to_owned(),
        ))
    }
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationResult {
    /// The data of the artifact `Result`. Numbers and booleans at its top level become metrics.
    pub result: Value,
    /// The reason why the evaluation counts as failed, if it does. A participant that did its work badly has a low
    /// score and no failure.
    pub failure: Option<String>,
}

impl EvaluationResult {
    /// Returns the verdict of an evaluation that was carried out, with this result.
    pub fn new(result: Value) -> Self {
        Self { result, failure: None }
    }
}
