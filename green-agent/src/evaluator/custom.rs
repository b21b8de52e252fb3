//! The trait for an evaluator of one's own, with its results and errors.

use async_trait::async_trait;
use bridge_client::ClientError;
use bridge_protocol::a2a::{AgentCard, Message};
use bridge_tasks::executor::EmitError;
use serde_json::Value;

use super::{reporter::Reporter, request::AssessmentRequest};

/// An evaluator of agents. [`agent`](super::agent()) makes a green agent of it, which speaks A2A with runners
/// such as AgentBeats' and with participants that ask for an evaluation themselves.
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
    /// If there is nothing that could be called a result.
    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<Verdict, AssessError>;

    /// Evaluates the sender of this message, such as a participant's "ready for evaluation".
    ///
    /// # Errors
    /// As for [`Evaluator::assess`]. An evaluator that only assesses others rejects the message.
    async fn welcome(
        &self,
        message: &Message,
        reporter: &Reporter,
    ) -> Result<Verdict, AssessError> {
        let _ = (message, reporter);
        Err(AssessError::Rejected(
            "expected one text or data part with {\"participants\": {ROLE: URL}, \"config\": {..}}"
                .to_owned(),
        ))
    }
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The data of the artifact `Result`. Numbers and truth values at its top become metrics.
    pub result: Value,
    /// The reason why the evaluation counts as failed, if it does. A participant that did what it was asked
    /// to, but badly, has a low score and no failure.
    pub failure: Option<String>,
}

impl Verdict {
    /// Returns the verdict of an evaluation that was carried out, with this result.
    pub fn new(result: Value) -> Self {
        Self {
            result,
            failure: None,
        }
    }
}

/// The reason why an evaluation has no result.
#[derive(Debug, thiserror::Error)]
pub enum AssessError {
    /// The request cannot be carried out; the text says what was expected.
    #[error("{0}")]
    Rejected(String),
    /// The evaluation could not be carried out.
    #[error("{0}")]
    Failed(String),
    /// Communication with a participant failed.
    #[error("{role}: {source}")]
    Participant {
        /// The participant's role.
        role: String,
        /// The cause.
        #[source]
        source: Box<ClientError>,
    },
    /// Another server that the evaluator needs, such as a registry, could not be reached; the text says which
    /// and why.
    #[error("{0}")]
    OutOfReach(String),
    /// The environment broke; the text says how. The participant is not at fault.
    #[error("{0}")]
    Environment(String),
    /// The participant's language model could not be used; the text says why.
    #[error("{0}")]
    Model(String),
    /// The task has ended or was canceled, so nothing more can be sent.
    #[error("the evaluation's task has ended: {0}")]
    Abandoned(#[source] Box<EmitError>),
}

impl From<EmitError> for AssessError {
    fn from(error: EmitError) -> Self {
        Self::Abandoned(Box::new(error))
    }
}
