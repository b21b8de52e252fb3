//! Starts the programs of agents.

use super::{Problem, ProblemKind, problem::chain};
use crate::participant::{AgentProcess, Launch};

/// Starts a program.
pub(super) fn started(launch: &Launch) -> Result<AgentProcess, Problem> {
    AgentProcess::start(launch).map_err(|error| ProblemKind::NotStarted.because(chain(&error)))
}
