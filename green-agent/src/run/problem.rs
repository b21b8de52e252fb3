//! What can be wrong with a trial, told apart so that nobody takes a broken machine for a bad agent.

use std::fmt;

use serde::Serialize;

use bridge_program::Exit;

/// One thing that is wrong with a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// What sort of thing.
    pub kind: ProblemKind,
    /// The whole of it, for a person; may have several lines.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.title(), self.message)
    }
}

/// The sorts of things that can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// An expectation of the scenario is not met.
    Assertion,
    /// The transcript is not what the snapshot says, or there is no snapshot.
    Snapshot,
    /// The evaluator says that the evaluation failed, or it was canceled.
    EvaluationFailed,
    /// The evaluator refused the request.
    EvaluationRejected,
    /// A scenario that must fail did not, or not as it should.
    UnexpectedEnd,
    /// The scenario file cannot be read.
    Unreadable,
    /// Something that the scenario requires is not installed; it did not run.
    MissingRequirement,
    /// Something that the scenario requires cannot be installed.
    InstallFailed,
    /// An agent cannot be started: no such program, a missing variable.
    NotStarted,
    /// An agent ended by itself.
    AgentCrashed,
    /// An agent's card could not be read in time.
    NeverReady,
    /// Nothing happened for too long, or the whole took too long.
    Hung,
    /// An agent said something that is not the protocol, or could not be reached.
    Protocol,
    /// The harness itself broke: no port, no disk.
    Harness,
    /// The user ended the run.
    Interrupted,
}

impl ProblemKind {
    /// What the program exits with because of it.
    pub fn exit(self) -> Exit {
        match self {
            Self::Assertion
            | Self::Snapshot
            | Self::EvaluationFailed
            | Self::EvaluationRejected
            | Self::UnexpectedEnd => Exit::Failed,
            Self::Unreadable => Exit::Unreadable,
            Self::MissingRequirement
            | Self::InstallFailed
            | Self::NotStarted
            | Self::AgentCrashed
            | Self::NeverReady
            | Self::Hung
            | Self::Protocol
            | Self::Harness
            | Self::Interrupted => Exit::Infrastructure,
        }
    }

    /// It in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Assertion => "expectation not met",
            Self::Snapshot => "snapshot differs",
            Self::EvaluationFailed => "evaluation failed",
            Self::EvaluationRejected => "evaluation rejected",
            Self::UnexpectedEnd => "did not fail as it should",
            Self::Unreadable => "scenario cannot be read",
            Self::MissingRequirement => "not run: something is missing",
            Self::InstallFailed => "not run: installing failed",
            Self::NotStarted => "agent cannot be started",
            Self::AgentCrashed => "agent crashed",
            Self::NeverReady => "agent never ready",
            Self::Hung => "hung",
            Self::Protocol => "protocol error",
            Self::Harness => "harness error",
            Self::Interrupted => "interrupted",
        }
    }

    /// A problem of this kind.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers have made the message for this and need it no more"
    )]
    pub fn because(self, message: impl ToString) -> Problem {
        Problem {
            kind: self,
            message: message.to_string(),
        }
    }
}

/// An error and what caused it, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error;
    while let Some(source) = inner.source() {
        text.push_str(": ");
        text.push_str(&source.to_string());
        inner = source;
    }
    text
}
