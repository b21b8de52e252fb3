//! What can be wrong with a trial, told apart so that nobody takes a broken machine for a bad agent.

use std::fmt;

use serde::Serialize;

use bridge_program::Exit;

/// One thing that is wrong with a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// What sort of thing.
    pub kind: ProblemKind,
    /// Whose fault it is.
    pub owner: Owner,
    /// The whole of it, for a person; may have several lines.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.title(), self.message)
    }
}

impl Problem {
    /// The same problem as the fault of `owner`.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// How a trial with only this problem ends.
    pub fn outcome(&self) -> Outcome {
        match (self.kind, self.owner) {
            (ProblemKind::Interrupted, _) | (_, Owner::User) => Outcome::Interrupted,
            (
                ProblemKind::Unreadable
                | ProblemKind::MissingRequirement
                | ProblemKind::InstallFailed
                | ProblemKind::NotStarted
                | ProblemKind::NeverReady,
                _,
            ) => Outcome::NotRun,
            (
                ProblemKind::Assertion
                | ProblemKind::Snapshot
                | ProblemKind::EvaluationFailed
                | ProblemKind::EvaluationRejected
                | ProblemKind::GoalMissed
                | ProblemKind::UnexpectedEnd,
                _,
            ) => Outcome::Failed,
            (
                ProblemKind::Crashed
                | ProblemKind::Hung
                | ProblemKind::Protocol
                | ProblemKind::Environment
                | ProblemKind::Model
                | ProblemKind::Harness,
                owner,
            ) => owner.error(),
        }
    }

    /// What the program exits with because of it.
    pub fn exit(&self) -> Exit {
        match (self.kind, self.outcome()) {
            (ProblemKind::Unreadable, _) => Exit::Unreadable,
            (_, Outcome::Passed) => Exit::Passed,
            (_, Outcome::Failed | Outcome::AgentError) => Exit::Failed,
            (
                _,
                Outcome::ModelError
                | Outcome::EvaluatorError
                | Outcome::EnvVarsError
                | Outcome::HarnessError
                | Outcome::NotRun
                | Outcome::Interrupted,
            ) => Exit::Infrastructure,
        }
    }

    /// Whether the trial broke off, so that how far it came is chance.
    pub(super) fn breaks_off(&self) -> bool {
        !matches!(self.outcome(), Outcome::Passed | Outcome::Failed)
    }
}

/// Whose fault a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The evaluated agent.
    Agent,
    /// The evaluator, a Green agent or a built-in one.
    Evaluator,
    /// The environment, or a server that stands beside the agents.
    Environment,
    /// The language model, or whoever serves it.
    Model,
    /// The harness, the scenario or the machine.
    Harness,
    /// The user, who ended the run.
    User,
}

impl Owner {
    /// How a trial ends that this owner broke off.
    fn error(self) -> Outcome {
        match self {
            Self::Agent => Outcome::AgentError,
            Self::Evaluator => Outcome::EvaluatorError,
            Self::Environment => Outcome::EnvVarsError,
            Self::Model => Outcome::ModelError,
            Self::Harness => Outcome::HarnessError,
            Self::User => Outcome::Interrupted,
        }
    }
}

/// How a trial ended. Of several problems the outcome that comes last here counts: a trial that a broken
/// machine ended says nothing about the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The agent did what was asked for.
    #[default]
    Passed,
    /// It did not: an expectation, a snapshot, the evaluation, the goal.
    Failed,
    /// It crashed, hung or broke the protocol after it had been ready. Its score is 0.
    AgentError,
    /// The model could not be asked.
    ModelError,
    /// The evaluator crashed, hung or broke the protocol.
    EvaluatorError,
    /// The environment, or a server beside the agents, broke.
    EnvVarsError,
    /// The harness broke: no port, no disk.
    HarnessError,
    /// It was not carried out: an unreadable file, something missing, an agent that was never ready.
    NotRun,
    /// The user ended it.
    Interrupted,
}

impl Outcome {
    /// Whether the trial says something about the agent, so that it enters the scores.
    pub fn is_scored(self) -> bool {
        matches!(self, Self::Passed | Self::Failed | Self::AgentError)
    }

    /// It in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::AgentError => "agent error",
            Self::ModelError => "model error",
            Self::EvaluatorError => "evaluator error",
            Self::EnvVarsError => "environment error",
            Self::HarnessError => "harness error",
            Self::NotRun => "not run",
            Self::Interrupted => "interrupted",
        }
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
    /// The evaluation was carried out, and the agent did not reach the goal or the score.
    GoalMissed,
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
    /// An agent ended before it was ready, or its card could not be read in time.
    NeverReady,
    /// A program of the trial ended by itself after it had been ready.
    Crashed,
    /// Nothing happened for too long, or the whole took too long.
    Hung,
    /// Somebody said something that is not the protocol, or could not be reached.
    Protocol,
    /// The environment broke.
    Environment,
    /// The model could not be asked.
    Model,
    /// The harness itself broke: no port, no disk.
    Harness,
    /// The user ended the run.
    Interrupted,
}

impl ProblemKind {
    /// Whose fault it is where nobody knows better.
    fn owner(self) -> Owner {
        match self {
            Self::Assertion
            | Self::Snapshot
            | Self::EvaluationFailed
            | Self::GoalMissed
            | Self::NeverReady
            | Self::Crashed
            | Self::Hung
            | Self::Protocol => Owner::Agent,
            Self::EvaluationRejected => Owner::Evaluator,
            Self::UnexpectedEnd
            | Self::Unreadable
            | Self::MissingRequirement
            | Self::InstallFailed
            | Self::NotStarted
            | Self::Harness => Owner::Harness,
            Self::Environment => Owner::Environment,
            Self::Model => Owner::Model,
            Self::Interrupted => Owner::User,
        }
    }

    /// It in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Assertion => "expectation not met",
            Self::Snapshot => "snapshot differs",
            Self::EvaluationFailed => "evaluation failed",
            Self::EvaluationRejected => "evaluation rejected",
            Self::GoalMissed => "goal not reached",
            Self::UnexpectedEnd => "did not fail as it should",
            Self::Unreadable => "scenario cannot be read",
            Self::MissingRequirement => "not run: something is missing",
            Self::InstallFailed => "not run: installing failed",
            Self::NotStarted => "agent cannot be started",
            Self::NeverReady => "agent never ready",
            Self::Crashed => "agent crashed",
            Self::Hung => "hung",
            Self::Protocol => "protocol error",
            Self::Environment => "environment error",
            Self::Model => "model error",
            Self::Harness => "harness error",
            Self::Interrupted => "interrupted",
        }
    }

    /// A problem of this kind, the fault of whom it mostly is.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers have made the message for this and need it no more"
    )]
    pub fn because(self, message: impl ToString) -> Problem {
        Problem {
            kind: self,
            owner: self.owner(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_from_kind_and_owner() {
        for (problem, outcome, exit) in [
            (ProblemKind::Crashed, Outcome::AgentError, Exit::Failed),
            (ProblemKind::GoalMissed, Outcome::Failed, Exit::Failed),
            (
                ProblemKind::NeverReady,
                Outcome::NotRun,
                Exit::Infrastructure,
            ),
            (ProblemKind::Unreadable, Outcome::NotRun, Exit::Unreadable),
            (
                ProblemKind::Model,
                Outcome::ModelError,
                Exit::Infrastructure,
            ),
        ] {
            let problem = problem.because("x");
            assert_eq!((problem.outcome(), problem.exit()), (outcome, exit));
        }
        for (owner, outcome, exit) in [
            (Owner::Agent, Outcome::AgentError, Exit::Failed),
            (
                Owner::Evaluator,
                Outcome::EvaluatorError,
                Exit::Infrastructure,
            ),
            (
                Owner::Environment,
                Outcome::EnvVarsError,
                Exit::Infrastructure,
            ),
            (Owner::Harness, Outcome::HarnessError, Exit::Infrastructure),
        ] {
            let problem = ProblemKind::Hung.because("x").owned_by(owner);
            assert_eq!((problem.outcome(), problem.exit()), (outcome, exit));
        }
    }

    #[test]
    fn a_broken_machine_wins_over_a_bad_agent() {
        assert!(Outcome::EnvVarsError > Outcome::AgentError);
        assert!(Outcome::AgentError > Outcome::Failed);
        assert!(!Outcome::ModelError.is_scored() && Outcome::AgentError.is_scored());
    }
}
