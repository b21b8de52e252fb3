//! Problems of a trial, with their kind and owner, so that broken infrastructure is not taken for a bad
//! agent.

use std::{borrow::Cow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use bridge_program::Exit;

/// One problem of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The party at fault.
    pub owner: Owner,
    /// The full description for a person; may have several lines.
    pub message: String,
}

/// The largest size of a message in bytes. Messages may contain texts of agents.
const LONGEST_MESSAGE: usize = 16 * 1024;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title(), self.message)
    }
}

impl Problem {
    /// Returns a short title for people, which names the party at fault where the kind of problem does.
    pub fn title(&self) -> Cow<'static, str> {
        let title = match (self.kind, self.owner) {
            (ProblemKind::Snapshot, Owner::Harness) => "no snapshot",
            (kind, _) => kind.title(),
        };
        match (title.strip_prefix("agent "), self.owner) {
            (Some(what), Owner::Evaluator) => format!("evaluator {what}").into(),
            (Some(what), Owner::Environment) => format!("server {what}").into(),
            (Some(_) | None, _) => title.into(),
        }
    }

    /// Returns the same problem as the fault of `owner`.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// Returns the same problem; the middle of a message that is too long is left out.
    #[must_use]
    pub fn shortened(self) -> Self {
        let message = &self.message;
        let length = message.len();
        if length <= LONGEST_MESSAGE {
            return self;
        }
        let half = LONGEST_MESSAGE / 2;
        let beginning = &message[..message.floor_char_boundary(half)];
        let end = &message[message.ceil_char_boundary(length - half)..];
        let left_out = length - beginning.len() - end.len();
        let message = format!("{beginning}\n[{left_out} bytes are left out here]\n{end}");
        Self { message, ..self }
    }

    /// Returns the outcome of a trial with only this problem.
    pub fn outcome(&self) -> Outcome {
        match (self.kind, self.owner) {
            (_, Owner::User) => Outcome::Interrupted,
            // It failed before it called an agent.
            (ProblemKind::EvaluationFailed, Owner::Evaluator) => Outcome::EvaluatorError,
            // There is nothing yet that the agent's work could be compared with.
            (ProblemKind::Snapshot, Owner::Harness) => Outcome::Passed,
            (kind, owner) => kind.properties().2.unwrap_or_else(|| owner.error()),
        }
    }

    /// Returns the exit code of the program for this problem.
    pub fn exit(&self) -> Exit {
        match (self.kind, self.outcome()) {
            (ProblemKind::Unreadable, _) => Exit::Unreadable,
            (ProblemKind::Snapshot, _) => Exit::Failed,
            (ProblemKind::StoppedEarly, _) | (_, Outcome::Passed) => Exit::Passed,
            (_, Outcome::Failed | Outcome::AgentError) => Exit::Failed,
            (
                _,
                Outcome::ModelError
                | Outcome::EvaluatorError
                | Outcome::EnvironmentError
                | Outcome::HarnessError
                | Outcome::NotRun
                | Outcome::Interrupted,
            ) => Exit::Infrastructure,
        }
    }

    /// Returns whether the problem ended the trial early, so that its progress depends on chance.
    pub fn breaks_off(&self) -> bool {
        // What the evaluator reports ends a trial too, but always at the same place.
        let is_reported =
            matches!(self.kind, ProblemKind::EvaluationRejected | ProblemKind::EvaluationFailed);
        !is_reported && !matches!(self.outcome(), Outcome::Passed | Outcome::Failed)
    }
}

/// The party at fault.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The evaluated agent.
    Agent,
    /// The evaluator: a green agent or a built-in one.
    Evaluator,
    /// The environment, or a server beside the agents.
    Environment,
    /// The language model or its provider.
    Model,
    /// The harness, the scenario or the machine.
    Harness,
    /// The user, who ended the run.
    User,
}

impl Owner {
    /// Returns the outcome of a trial that was ended early by a fault of this owner.
    fn error(self) -> Outcome {
        match self {
            Self::Agent => Outcome::AgentError,
            Self::Evaluator => Outcome::EvaluatorError,
            Self::Environment => Outcome::EnvironmentError,
            Self::Model => Outcome::ModelError,
            Self::Harness => Outcome::HarnessError,
            Self::User => Outcome::Interrupted,
        }
    }
}

/// The words before what a program last printed, at the end of a message.
pub(crate) const LAST_PRINTED: &str = "; it last printed:\n";

/// Returns the lines that a program last printed, as the end of a message; nothing if there are none.
pub fn last_printed(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        lines => format!("{LAST_PRINTED}{}", lines.join("\n")),
    }
}

/// Returns whether a metric measures the quality of the agent's work.
pub fn is_worth(metric: &str) -> bool {
    ["score", "success", "reward"].contains(&metric)
}

/// The outcome of a trial. Of several problems, the one whose outcome is last in this list counts: a trial that was
/// ended by broken infrastructure says nothing about the agent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The agent did its task.
    #[default]
    Passed,
    /// An expectation, a snapshot, the evaluation or the goal was not met.
    Failed,
    /// The agent crashed, hung or broke the protocol after it had been ready. Its score is 0.
    AgentError,
    /// The language model could not be used.
    ModelError,
    /// The evaluator crashed, hung, broke the protocol or refused the request: the agent was not evaluated.
    EvaluatorError,
    /// The environment, or a server beside the agents, broke.
    EnvironmentError,
    /// The harness broke: no port, no disk.
    HarnessError,
    /// The trial was not carried out: an unreadable file, a missing requirement, an agent that was never
    /// ready.
    NotRun,
    /// The user ended the run.
    Interrupted,
}

impl Outcome {
    /// Returns the value of a metric that counts for a trial with this outcome; `None` if the trial says nothing
    /// about the agent. An agent that crashed or hung has 0 in the metrics that measure its work, and so has one whose
    /// evaluation has not `completed` and gave no such metric.
    pub fn counted(self, metric: &str, measured: Option<f64>, completed: bool) -> Option<f64> {
        let nothing = is_worth(metric).then_some(0.0);
        match self {
            Self::Failed if !completed => measured.or(nothing),
            Self::Passed | Self::Failed => measured,
            Self::AgentError => nothing,
            Self::ModelError
            | Self::EvaluatorError
            | Self::EnvironmentError
            | Self::HarnessError
            | Self::NotRun
            | Self::Interrupted => None,
        }
    }

    /// Returns whether the trial says something about the agent and counts in the means.
    pub fn is_scored(self) -> bool {
        matches!(self, Self::Passed | Self::Failed | Self::AgentError)
    }

    /// Returns a short title for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::AgentError => "agent error",
            Self::ModelError => "model error",
            Self::EvaluatorError => "evaluator error",
            Self::EnvironmentError => "environment error",
            Self::HarnessError => "harness error",
            Self::NotRun => "not run",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// An expectation of the scenario is not met.
    Assertion,
    /// The transcript differs from the snapshot, or there is no snapshot.
    Snapshot,
    /// The evaluator reported that the evaluation failed or was canceled, or completed it without calling an agent or finding anything out.
    EvaluationFailed,
    /// The evaluator refused the request.
    EvaluationRejected,
    /// The evaluation completed, but its result lacks a number that the scenario needs.
    MissingMetric,
    /// The evaluation completed, but the agent did not reach the goal or the score.
    GoalMissed,
    /// A figure of all trials does not meet the demands of `[harness.gate]`.
    Gate,
    /// A scenario that must fail passed, or failed in another way.
    UnexpectedEnd,
    /// The scenario file cannot be read.
    Unreadable,
    /// A requirement of the scenario is not installed, so it did not run.
    MissingRequirement,
    /// A requirement of the scenario cannot be installed.
    InstallFailed,
    /// An agent cannot be started: no such program, a missing variable.
    NotStarted,
    /// An agent ended before it was ready, or its card could not be read in time.
    NeverReady,
    /// A program of the trial ended by itself after it had been ready.
    Crashed,
    /// Nothing happened for too long, or the trial took too long.
    Hung,
    /// A party sent a message that violates the protocol, or could not be reached.
    Protocol,
    /// The environment broke.
    Environment,
    /// The language model could not be used.
    Model,
    /// The harness itself broke: no port, no disk.
    Harness,
    /// The user ended the run.
    Interrupted,
    /// The trial was not needed any more: the interval was narrow enough.
    StoppedEarly,
}

impl ProblemKind {
    /// Returns the party that is at fault by default, a short title for people, and the outcome of a trial with only this problem if
    /// it does not follow from the party at fault.
    fn properties(self) -> (Owner, &'static str, Option<Outcome>) {
        match self {
            Self::Assertion => (Owner::Agent, "expectation not met", Some(Outcome::Failed)),
            Self::Snapshot => (Owner::Agent, "snapshot differs", Some(Outcome::Failed)),
            Self::EvaluationFailed => (Owner::Agent, "evaluation failed", Some(Outcome::Failed)),
            Self::EvaluationRejected => (Owner::Evaluator, "evaluation rejected", None),
            // An evaluator may have no number for an agent that did nothing: such trials count.
            Self::MissingMetric => (Owner::Evaluator, "metric missing", Some(Outcome::Failed)),
            Self::GoalMissed => (Owner::Agent, "goal not reached", Some(Outcome::Failed)),
            Self::Gate => (Owner::Agent, "gate not met", Some(Outcome::Failed)),
            Self::UnexpectedEnd => {
                (Owner::Harness, "did not fail as expected", Some(Outcome::Failed))
            }
            Self::Unreadable => (Owner::Harness, "scenario cannot be read", Some(Outcome::NotRun)),
            Self::MissingRequirement => {
                (Owner::Harness, "not run: something is missing", Some(Outcome::NotRun))
            }
            Self::InstallFailed => {
                (Owner::Harness, "not run: installing failed", Some(Outcome::NotRun))
            }
            Self::NotStarted => (Owner::Harness, "agent cannot be started", Some(Outcome::NotRun)),
            Self::NeverReady => (Owner::Agent, "agent never ready", Some(Outcome::NotRun)),
            Self::Crashed => (Owner::Agent, "agent crashed", None),
            Self::Hung => (Owner::Agent, "hung", None),
            Self::Protocol => (Owner::Agent, "protocol error", None),
            Self::Environment => (Owner::Environment, "environment error", None),
            Self::Model => (Owner::Model, "model error", None),
            Self::Harness => (Owner::Harness, "harness error", None),
            Self::Interrupted => (Owner::User, "interrupted", Some(Outcome::Interrupted)),
            Self::StoppedEarly => (Owner::Harness, "not run: stopped early", Some(Outcome::NotRun)),
        }
    }

    /// Returns a short title for people.
    pub fn title(self) -> &'static str {
        self.properties().1
    }

    /// Returns whether a trial with such a problem has not begun, so that nobody was evaluated.
    pub fn prevents_trial(self) -> bool {
        matches!(
            self,
            Self::MissingRequirement | Self::InstallFailed | Self::NotStarted | Self::NeverReady
        )
    }

    /// Returns a problem of this kind with its default owner.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers have made the message for this and need it no more"
    )]
    pub fn because(self, message: impl ToString) -> Problem {
        Problem { kind: self, owner: self.properties().0, message: message.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_names_the_party_at_fault() {
        for (kind, owner, expected) in [
            (ProblemKind::Crashed, Owner::Agent, "agent crashed"),
            (ProblemKind::NeverReady, Owner::Evaluator, "evaluator never ready"),
            (ProblemKind::Crashed, Owner::Environment, "server crashed"),
            (ProblemKind::Hung, Owner::Environment, "hung"),
        ] {
            assert_eq!(kind.because("").owned_by(owner).title(), expected);
        }
    }

    #[test]
    fn the_middle_of_a_long_message_is_left_out() {
        let short = "é".repeat(LONGEST_MESSAGE / 2);
        for (message, expected) in [
            (short.clone(), short),
            (
                format!("the answer was {}, the end", "é".repeat(40_000)),
                format!(
                    "the answer was {}\n[63642 bytes are left out here]\n{}, the end",
                    "é".repeat(4088),
                    "é".repeat(4091)
                ),
            ),
        ] {
            let problem = ProblemKind::EvaluationFailed.because(message).shortened();
            assert_eq!(problem.message, expected);
        }
    }

    #[test]
    fn the_exit_code_follows_from_kind_and_owner() {
        for (problem, outcome, exit) in [
            (ProblemKind::Crashed, Outcome::AgentError, Exit::Failed),
            (ProblemKind::GoalMissed, Outcome::Failed, Exit::Failed),
            (ProblemKind::MissingMetric, Outcome::Failed, Exit::Failed),
            (ProblemKind::EvaluationRejected, Outcome::EvaluatorError, Exit::Infrastructure),
            (ProblemKind::NeverReady, Outcome::NotRun, Exit::Infrastructure),
            (ProblemKind::Unreadable, Outcome::NotRun, Exit::Unreadable),
            (ProblemKind::Model, Outcome::ModelError, Exit::Infrastructure),
        ] {
            let problem = problem.because("x");
            assert_eq!((problem.outcome(), problem.exit()), (outcome, exit));
        }
        for (owner, outcome, exit) in [
            (Owner::Agent, Outcome::AgentError, Exit::Failed),
            (Owner::Evaluator, Outcome::EvaluatorError, Exit::Infrastructure),
            (Owner::Environment, Outcome::EnvironmentError, Exit::Infrastructure),
            (Owner::Harness, Outcome::HarnessError, Exit::Infrastructure),
        ] {
            let problem = ProblemKind::Hung.because("x").owned_by(owner);
            assert_eq!((problem.outcome(), problem.exit()), (outcome, exit));
        }
        for (owner, outcome, exit) in [
            (Owner::Agent, Outcome::Failed, Exit::Failed),
            (Owner::Evaluator, Outcome::EvaluatorError, Exit::Infrastructure),
        ] {
            let problem = ProblemKind::EvaluationFailed.because("x").owned_by(owner);
            assert_eq!((problem.outcome(), problem.exit()), (outcome, exit));
        }
    }

    #[test]
    fn a_broken_machine_wins_over_a_bad_agent() {
        assert!(Outcome::EnvironmentError > Outcome::AgentError);
        assert!(Outcome::AgentError > Outcome::Failed);
        assert!(!Outcome::ModelError.is_scored() && Outcome::AgentError.is_scored());
        let written = serde_json::to_value(Outcome::EnvironmentError).unwrap();
        assert_eq!(written, "environment-error");
    }

    #[test]
    fn an_error_counts_as_no_success_and_not_as_no_cost() {
        for (outcome, metric, measured, completed, counted) in [
            (Outcome::Passed, "score", Some(0.5), true, Some(0.5)),
            (Outcome::Passed, "score", None, false, None),
            (Outcome::Failed, "score", Some(0.5), false, Some(0.5)),
            (Outcome::Failed, "score", None, true, None),
            (Outcome::Failed, "score", None, false, Some(0.0)),
            (Outcome::Failed, "cost", None, false, None),
            (Outcome::AgentError, "reward", Some(0.5), true, Some(0.0)),
            (Outcome::AgentError, "cost", Some(0.5), true, None),
            (Outcome::HarnessError, "score", Some(0.5), true, None),
        ] {
            let found = outcome.counted(metric, measured, completed);
            assert_eq!(found, counted, "{outcome:?} {metric} {measured:?} {completed}");
        }
    }
}
