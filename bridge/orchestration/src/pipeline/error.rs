//! The errors of steps and of whole pipelines.

use std::{fmt, time::Duration};

/// The reason why a pipeline has no result. `E` is the error of its [`Progress`](super::Progress).
#[derive(Debug, thiserror::Error)]
pub enum PipelineError<E> {
    /// The pipeline cannot begin; the text describes the expected value.
    #[error("{0}")]
    Rejected(String),
    /// An agent or registry could not be reached; the text names it and the reason. The agents are not at fault.
    #[error("{0}")]
    OutOfReach(String),
    /// No more messages can be sent to the caller.
    #[error("the pipeline's caller has left")]
    Abandoned(E),
}

/// The reason why a pipeline ends early.
#[derive(Debug)]
pub(super) enum RunError<E> {
    /// A step failed.
    Step(StepFailure),
    /// No more messages can be sent to the caller.
    Abandoned(E),
}

impl<E> From<E> for RunError<E> {
    fn from(error: E) -> Self {
        Self::Abandoned(error)
    }
}

/// The reason why one attempt at a step failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AttemptError {
    /// No agent has the skill.
    #[error("no agent has the skill; {0}")]
    NoAgent(String),
    /// A place with agents could not be searched.
    #[error("cannot look for an agent: {0}")]
    LookupFailed(String),
    /// A parameter refers to a value that no step has returned.
    #[error("input.{parameter}: nothing at {reference}; {source_is}")]
    UnresolvedReference { parameter: String, reference: String, source_is: String },
    /// The input does not match the skill's schema.
    #[error("the input does not match the skill's parameters: {0}")]
    Parameters(String),
    /// The output does not match the skill's schema.
    #[error("the output does not match the skill's schema: {0}")]
    Output(String),
    /// The agent does not know the skill that its card names.
    #[error("the agent does not know the skill after all: {0}")]
    Unknown(String),
    /// The agent tried and failed.
    #[error("{0}")]
    Failed(String),
    /// The agent asks for more input, which a pipeline cannot give.
    #[error("the agent asks for more input, which a pipeline cannot give: {0}")]
    InputRequired(String),
    /// The agent refuses the caller's credentials, or needs some.
    #[error("{0}; its credentials are configured in [[config.credential]]")]
    Unauthorized(String),
    /// The agent could not be reached, or violates its card.
    #[error("{0}")]
    Unreachable(String),
    /// The attempt exceeded its time limit.
    #[error("it took longer than {0:?}; give the step a longer timeout, or the agent less to do")]
    TimedOut(Duration),
}

impl AttemptError {
    /// Returns whether another attempt may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::LookupFailed(_)
            | Self::NoAgent(_)
            | Self::Output(_)
            | Self::Unknown(_)
            | Self::Failed(_)
            | Self::Unreachable(_)
            | Self::TimedOut(_) => true,
            Self::UnresolvedReference { .. }
            | Self::Parameters(_)
            | Self::InputRequired(_)
            | Self::Unauthorized(_) => false,
        }
    }

    /// Combines the errors of two addresses that were searched.
    pub(super) fn and(self, there: Self) -> Self {
        match (self, there) {
            (Self::NoAgent(here), Self::NoAgent(there)) => {
                Self::NoAgent(format!("{here}; {there}"))
            }
            (Self::NoAgent(_), there) => there,
            (here, there) => Self::LookupFailed(format!("{here}; {there}")),
        }
    }

    /// Returns whether the fault is one of infrastructure: agents or their registry cannot be reached, or
    /// refuse the pipeline's credentials.
    pub(super) fn is_infrastructure(&self) -> bool {
        matches!(self, Self::LookupFailed(_) | Self::Unauthorized(_) | Self::Unreachable(_))
    }
}

/// The reason why a pipeline did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// All attempts at a step failed.
    Step(StepFailure),
    /// The whole pipeline exceeded its time limit.
    TimedOut {
        /// The pipeline's time limit.
        limit: Duration,
        /// The ids of the steps that were running.
        running: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepFailure {
    /// The step's id.
    pub(super) step: String,
    pub(super) skill: String,
    /// The agent of the last attempt, if one was found.
    pub(super) agent: Option<String>,
    pub(super) attempts: u32,
    /// The error of the last attempt.
    pub(super) fault: AttemptError,
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}, {}", self.step, self.skill)?;
        if let Some(agent) = &self.agent {
            write!(f, " at {agent}")?;
        }
        if self.attempts > 1 {
            write!(f, ", {} attempts", self.attempts)?;
        }
        write!(f, ": {}", self.fault)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(failure) => failure.fmt(f),
            Self::TimedOut { limit, running } => write!(
                f,
                "the pipeline took longer than {limit:?} (config.timeout), running: {}",
                running.join(", ")
            ),
        }
    }
}
