//! The events that the runner emits while scenarios run. Terminal and report files only consume them.

use super::report::{RunReport, ScenarioReport};
use crate::record::TrialRecord;
use green_agent_participant::install::InstallEvent;

/// One event of a run.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// The run begins.
    Started {
        /// The number of scenarios.
        scenarios: usize,
    },
    /// A scenario was read.
    Planned {
        /// The number of its trials that are to run.
        trials: usize,
    },
    /// A requirement of scenarios is being installed.
    Install(InstallEvent),
    /// A trial enters a phase.
    Phase {
        /// The scenario.
        scenario: String,
        /// The trial, from 1.
        trial: u32,
        /// The phase that begins.
        phase: Phase,
    },
    /// An agent has printed a line.
    Output {
        /// The scenario.
        scenario: String,
        /// The agent's role.
        role: String,
        /// The line, with secrets masked.
        line: String,
    },
    /// An agent of `--serve-only` is ready.
    Serving {
        /// The agent's role.
        role: String,
        /// Its address.
        url: String,
    },
    /// The evaluator has sent a text.
    Said {
        /// The scenario.
        scenario: String,
        /// The text.
        text: String,
    },
    /// The agents of a scenario that keeps them are stopped, and the next trial restarts them.
    AgentsNotKept {
        /// The scenario.
        scenario: String,
        /// The reason, with secrets masked.
        reason: String,
    },
    /// An attempt at a trial has ended and is recorded.
    TrialEnded {
        /// Its record.
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
