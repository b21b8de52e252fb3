//! An evaluator of one's own: what it is asked, and what it answers.

use async_trait::async_trait;
use bridge::executor::EmitError;
use bridge_client::ClientError;
use bridge_protocol::a2a::{AgentCard, Message};
use serde_json::Value;

use super::{reporter::Reporter, request::AssessmentRequest};

/// Who evaluates. [`agent`](super::agent()) makes a green agent of it, which speaks A2A with runners such
/// as AgentBeats' and with participants that come by themselves.
///
/// Each method is called once for each task, in parallel for several; its future is dropped when the task
/// is canceled.
#[async_trait]
pub trait Evaluator: Send + Sync + 'static {
    /// Says what it evaluates. What comes in has the agent's name and a default for everything else.
    fn card(&self, card: AgentCard) -> AgentCard {
        card
    }

    /// Assesses the participants that a request names, as AgentBeats' runner asks it.
    ///
    /// # Errors
    /// If there is nothing that could be called a result.
    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<Verdict, AssessError>;

    /// Evaluates the one who says this, such as a participant's "ready for evaluation".
    ///
    /// # Errors
    /// As for [`Evaluator::assess`]; an evaluator that only assesses others refuses.
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

/// What an evaluation came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The data of the artifact `Result`. Numbers and truth values at its top become metrics.
    pub result: Value,
    /// Why the evaluation counts as failed, if it does. A participant that did badly, but did what it was
    /// asked to, has a low score and no failure.
    pub failure: Option<String>,
}

impl Verdict {
    /// An evaluation that was carried out, with this result.
    pub fn new(result: Value) -> Self {
        Self {
            result,
            failure: None,
        }
    }
}

/// Why an evaluation has no result.
#[derive(Debug, thiserror::Error)]
pub enum AssessError {
    /// It was asked for in a way that it cannot be carried out; says what was expected.
    #[error("{0}")]
    Rejected(String),
    /// It could not be carried out.
    #[error("{0}")]
    Failed(String),
    /// A participant could not be spoken to.
    #[error("{role}: {source}")]
    Participant {
        /// Whose fault it is.
        role: String,
        /// What happened.
        #[source]
        source: Box<ClientError>,
    },
    /// Somebody else whom it needs, such as a registry, could not be reached; says who and why.
    #[error("{0}")]
    OutOfReach(String),
    /// The environment broke; says how. The participant is not at fault.
    #[error("{0}")]
    Environment(String),
    /// The participant's language model could not be asked; says why.
    #[error("{0}")]
    Model(String),
    /// Whoever asked for it is gone, or has canceled it.
    #[error("nobody hears it any more: {0}")]
    Unheard(#[source] Box<EmitError>),
}

impl From<EmitError> for AssessError {
    fn from(error: EmitError) -> Self {
        Self::Unheard(Box::new(error))
    }
}
