//! What happens while scenarios run. The runner emits these; terminal and files only consume them.

use super::report::{RunReport, ScenarioReport};
use crate::install::InstallEvent;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// The run begins.
    Started {
        /// How many scenarios it has.
        scenarios: usize,
    },
    /// Something that scenarios require is being installed.
    Install(InstallEvent),
    /// A trial enters a phase.
    Phase {
        /// The scenario.
        scenario: String,
        /// The trial, from 1.
        trial: u32,
        /// What it does now.
        phase: Phase,
    },
    /// An agent printed a line.
    Output {
        /// The scenario.
        scenario: String,
        /// The agent.
        role: String,
        /// What it printed, secrets masked.
        line: String,
    },
    /// A served agent can be reached.
    Serving {
        /// The agent.
        role: String,
        /// Where.
        url: String,
    },
    /// The evaluator said something.
    Said {
        /// The scenario.
        scenario: String,
        /// What it said.
        text: String,
    },
    /// A scenario ended.
    ScenarioEnded(Box<ScenarioReport>),
    /// Everything ended.
    Ended(Box<RunReport>),
}

/// The phases of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Agents are being started.
    Starting,
    /// Agents were started; their cards are waited for.
    WaitingForAgents,
    /// The evaluation runs.
    Evaluating,
    /// Agents are being stopped.
    Stopping,
}

impl Phase {
    /// It in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Starting => "starting agents",
            Self::WaitingForAgents => "waiting for agents",
            Self::Evaluating => "evaluating",
            Self::Stopping => "stopping agents",
        }
    }
}
