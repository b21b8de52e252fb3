//! The events that the runner emits while scenarios run. Terminal and report files only consume them.

use super::report::{RunReport, ScenarioReport};
use crate::record::TrialRecord;
use green_agent_participant::install::InstallEvent;

/// One event of a run.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say what the fields are")]
pub enum RunEvent {
    /// The run of so many scenarios begins.
    Started { scenarios: usize },
    /// A scenario was read, of which so many trials are to run.
    Planned { trials: usize },
    /// A requirement of scenarios is being installed.
    Install(InstallEvent),
    /// A trial enters a phase.
    Phase {
        scenario: String,
        /// The trial, from 1.
        trial: u32,
        phase: Phase,
    },
    /// An agent has printed a line.
    Output {
        scenario: String,
        role: String,
        /// The line, with secrets masked.
        line: String,
    },
    /// An agent of `--serve-only` is ready.
    Serving { role: String, url: String },
    /// A trial waits for these agents, each with its address.
    Waiting { scenario: String, agents: Vec<String> },
    /// The evaluator has sent a text.
    Said { scenario: String, text: String },
    /// The agents of a scenario that keeps them are stopped, and the next trial restarts them.
    AgentsNotKept {
        scenario: String,
        /// The reason, with secrets masked.
        reason: String,
    },
    /// An attempt at a trial has ended and is recorded.
    TrialEnded {
        record: Box<TrialRecord>,
        /// Whether the scenario passes by failing.
        must_fail: bool,
    },
    /// A scenario has ended.
    ScenarioEnded(Box<ScenarioReport>),
    /// The run has ended.
    Ended(Box<RunReport>),
}

/// The phases of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Agents are being started.
    Starting,
    /// Agents were started; the runner waits for their cards.
    WaitingForAgents,
    /// The evaluation runs.
    Evaluating,
    /// Agents are being stopped.
    Stopping,
}

impl Phase {
    /// Returns the name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::WaitingForAgents => "waiting",
            Self::Evaluating => "evaluating",
            Self::Stopping => "stopping",
        }
    }

    /// Returns a short title for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Starting => "starting agents",
            Self::WaitingForAgents => "waiting for agents",
            Self::Evaluating => "evaluating",
            Self::Stopping => "stopping agents",
        }
    }
}
