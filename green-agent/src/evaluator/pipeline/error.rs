//! Why a step was not done.

use std::{fmt, time::Duration};

/// What went wrong with one attempt at a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// No agent has the skill.
    #[error("nobody has the skill; {looked}")]
    Nobody {
        /// What was looked through.
        looked: String,
    },
    /// Where agents are to be found could not be looked at.
    #[error("cannot look for an agent: {why}")]
    Lost {
        /// Where, and what happened there.
        why: String,
    },
    /// A parameter refers to something that no step has given.
    #[error("input.{parameter}: nothing at {reference}; {source_is}")]
    NothingThere {
        /// The parameter.
        parameter: String,
        /// Where it should have come from.
        reference: String,
        /// What is there in its place.
        source_is: String,
    },
    /// The input is not what the skill takes.
    #[error("its input is not what the skill takes: {why}")]
    Parameters {
        /// Which parameter, and what was expected of it.
        why: String,
    },
    /// The output is not what the skill promises.
    #[error("its output is not what the skill promises: {why}")]
    Output {
        /// Where, and what was expected there.
        why: String,
    },
    /// The agent does not know the skill that its card names.
    #[error("the agent does not know the skill after all: {why}")]
    Unknown {
        /// What it said.
        why: String,
    },
    /// The agent tried and failed.
    #[error("{why}")]
    Failed {
        /// What it said.
        why: String,
    },
    /// The agent wants to be told more, which a pipeline cannot.
    #[error("the agent asks for more, which a pipeline cannot give: {question}")]
    Asks {
        /// What it asked.
        question: String,
    },
    /// The agent wants to know who asks, or does not allow it.
    #[error("{why}; what it is shown stands in [[config.credential]]")]
    NotLetIn {
        /// What it said.
        why: String,
    },
    /// The agent could not be reached, or does not speak as its card says.
    #[error("{why}")]
    Unreachable {
        /// What happened.
        why: String,
    },
    /// It took too long.
    #[error(
        "it took longer than {limit:?}; give the step a longer timeout, or the agent less to do"
    )]
    TimedOut {
        /// The step's limit.
        limit: Duration,
    },
}

impl Fault {
    /// Whether another attempt may end better.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Lost { .. }
            | Self::Nobody { .. }
            | Self::Output { .. }
            | Self::Unknown { .. }
            | Self::Failed { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. } => true,
            Self::NothingThere { .. }
            | Self::Parameters { .. }
            | Self::Asks { .. }
            | Self::NotLetIn { .. } => false,
        }
    }

    /// This and what was found in looking on elsewhere.
    pub(super) fn and(self, there: Self) -> Self {
        match (self, there) {
            (Self::Nobody { looked: here }, Self::Nobody { looked: there }) => Self::Nobody {
                looked: format!("{here}; {there}"),
            },
            (Self::Nobody { .. }, there) => there,
            (here, there) => Self::Lost {
                why: format!("{here}; {there}"),
            },
        }
    }

    /// Whether it says nothing about the agents, but that they or their registry are out of reach, or do not let
    /// the pipeline in.
    pub(super) fn is_infrastructure(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::NotLetIn { .. } | Self::Unreachable { .. } => true,
            Self::Nobody { .. }
            | Self::NothingThere { .. }
            | Self::Parameters { .. }
            | Self::Output { .. }
            | Self::Unknown { .. }
            | Self::Failed { .. }
            | Self::Asks { .. }
            | Self::TimedOut { .. } => false,
        }
    }
}

/// The end of a pipeline that was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// A step was not done, however often it was tried.
    Step(StepFailure),
    /// All of it took too long.
    TimedOut {
        /// The pipeline's limit.
        limit: Duration,
        /// The steps that were running.
        running: Vec<String>,
    },
}

/// A step that was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepFailure {
    /// The step.
    pub(super) step: String,
    /// Its skill.
    pub(super) skill: String,
    /// Who tried last, if anybody was found.
    pub(super) agent: Option<String>,
    /// How often it was tried.
    pub(super) attempts: u32,
    /// What went wrong at last.
    pub(super) fault: Fault,
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
