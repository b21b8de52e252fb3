//! Starts agents.

use super::{
    Problem, ProblemKind,
    episode_setup::EpisodeSetup,
    problem::chain,
    trial_agents::{AgentStart, TrialAgents},
};
use crate::{
    participant::{AgentProcess, Launch, ready::Awaited},
    scenario::model::Listens,
};

/// Starts the agents one after the other. Those that were started are in `processes` even if a later one
/// could not be.
pub(super) fn start_all(
    agents: &TrialAgents,
    episode_setup: Option<&EpisodeSetup>,
    processes: &mut Vec<AgentProcess>,
) -> Result<(), Problem> {
    for handle in &agents.handles {
        match &handle.start {
            // Agents that call are started later, once the green agent is ready.
            AgentStart::None | AgentStart::Client(_) | AgentStart::Caller(_) => {}
            AgentStart::Hosted {
                local_server,
                agent,
            } => {
                let preset = handle
                    .tools
                    .clone()
                    .or_else(|| episode_setup.and_then(EpisodeSetup::preset));
                let (role, url) = (handle.role.clone(), local_server.url().clone());
                local_server.serve(agent.clone().app(role, url, preset));
            }
            AgentStart::Program { launch, .. } => processes.push(started(launch)?),
        }
    }
    Ok(())
}

/// Starts a program.
pub(super) fn started(launch: &Launch) -> Result<AgentProcess, Problem> {
    AgentProcess::start(launch).map_err(|error| ProblemKind::NotStarted.because(chain(&error)))
}

/// Returns the response that shows that an agent is ready.
pub(super) fn awaited(listens: Listens) -> Awaited {
    match listens {
        Listens::Agent => Awaited::Card,
        Listens::Server => Awaited::Answer,
    }
}
