//! The reasons why an evaluation has no result.

use bridge_client::ClientError;
use bridge_tasks::executor::EmitError;

/// The reason why an evaluation has no result.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum AssessError {
    /// The request cannot be carried out; the text says what was expected.
    #[error("{0}")]
    Rejected(String),
    /// The evaluation could not be carried out.
    #[error("{0}")]
    Failed(String),
    /// Communication with a participant failed.
    #[error("{role}: {error}")]
    Participant { role: String, error: Box<ClientError> },
    /// Another server that the evaluator needs, such as a registry, could not be reached; the text names it and the
    /// reason.
    #[error("{0}")]
    OutOfReach(String),
    /// The environment broke; the text describes the failure. The participant is not at fault.
    #[error("{0}")]
    Environment(String),
    /// The participant's language model could not be used; the text has the reason.
    #[error("{0}")]
    Model(String),
    /// The task has ended or was canceled, so nothing more can be sent.
    #[error("the evaluation's task has ended: {0}")]
    Abandoned(Box<EmitError>),
}

impl From<EmitError> for AssessError {
    fn from(error: EmitError) -> Self {
        Self::Abandoned(Box::new(error))
    }
}
