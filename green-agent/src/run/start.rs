//! Starts agents and waits until they are ready.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use bridge_program::{chain, lock};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::{
    Problem, ProblemKind, RunEvent, RunOptions,
    agents::unreplaced_in,
    episode_setup::EpisodeSetup,
    judge::{not_ready, not_served},
    trial_agents::{AgentHandle, AgentStart, TrialAgents},
};
use crate::{
    participant::{
        AgentProcess, Launch, LocalServer,
        env_vars::EnvVars,
        ready::{ReadyCheck, wait_ready},
    },
    scenario::{
        model::{Scenario, ServerKind},
        parse::is_manifest,
    },
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
            AgentStart::Hosted { local_server, agent, message_only } => {
                let preset = handle.tools.clone().or_else(|| episode_setup?.preset.clone());
                let (role, url) = (handle.role.clone(), local_server.url().clone());
                local_server.serve(agent.clone().app(role, url, preset, *message_only));
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
fn awaited(handle: &AgentHandle, scenario: &Scenario) -> ReadyCheck {
    match handle.server_kind {
        ServerKind::Agent if scenario.shows_credential_to(&handle.role) => {
            ReadyCheck::CardOrRefusal
        }
        ServerKind::Agent => ReadyCheck::Card,
        ServerKind::Server => ReadyCheck::Answer,
    }
}

/// Waits until all agents are ready, or those that were started if the others are not new.
pub(super) async fn all_ready(
    agents: &TrialAgents,
    scenario: &Scenario,
    processes: &[AgentProcess],
    options: &RunOptions,
    are_new: bool,
) -> Result<(), Problem> {
    let is_awaited = |one: &&AgentHandle| are_new || !matches!(one.start, AgentStart::None);
    let handles: Vec<_> = agents.handles.iter().filter(is_awaited).collect();
    let waiting = Mutex::new(handles.clone());
    tell_waiting(&lock(&waiting), scenario, options);
    let ready = handles.into_iter().map(async |handle| {
        ready(handle, scenario, processes, options).await?;
        let mut waiting = lock(&waiting);
        waiting.retain(|one| one.role != handle.role);
        tell_waiting(&waiting, scenario, options);
        Ok(())
    });
    try_join_all(ready).await.map(drop)
}

fn tell_waiting(waiting: &[&AgentHandle], scenario: &Scenario, options: &RunOptions) {
    let named = |one: &&AgentHandle| Some(format!("{} at {}", one.role, one.endpoint.as_ref()?));
    let agents: Vec<String> = waiting.iter().filter_map(named).collect();
    if !agents.is_empty() {
        options.emit(RunEvent::Waiting { scenario: scenario.name.clone(), agents });
    }
}

/// Waits until an agent is ready, and records the time its program took. An agent without an address is ready at once.
pub(super) async fn ready(
    handle: &AgentHandle,
    scenario: &Scenario,
    processes: &[AgentProcess],
    options: &RunOptions,
) -> Result<(), Problem> {
    let Some(endpoint) = &handle.endpoint else {
        return Ok(());
    };
    let limit = scenario.harness.timeout.ready;
    if let AgentStart::Hosted { local_server, .. } = &handle.start {
        let served = served(local_server, limit).await;
        return served.map_err(|why| not_served(scenario, &handle.role, &why));
    }
    let process = processes.iter().find(|agent| agent.role() == handle.role);
    let awaited = awaited(handle, scenario);
    let program = handle.program();
    let quiet = program.as_deref().map(|one| options.start_times.quiet(one)).unwrap_or_default();
    let begun = Instant::now();
    let ready =
        wait_ready(&handle.role, endpoint, awaited, process, quiet, limit, &options.tls).await;
    ready.map_err(|error| {
        let problem = not_ready(scenario, &handle.role, &error);
        explained(problem, scenario, &handle.role, options)
    })?;
    if let Some(program) = program {
        options.start_times.add(&program, begun.elapsed());
    }
    Ok(())
}

/// What agents print that were written for a2a-sdk 0.3, if 1.0 or later is installed.
const WITHOUT_OLD_SDK: [&str; 3] = [
    "No module named 'a2a.server.apps'",
    "cannot import name 'A2AClient' from 'a2a.client'",
    // The end of "cannot import name 'DataPart' from 'a2a.types' (PATH)"; 0.3 has no such folder.
    "/a2a/types/__init__.py)",
];

/// Returns the problem of a program with what its author may not know of the environment that it got.
fn explained(problem: Problem, scenario: &Scenario, role: &str, options: &RunOptions) -> Problem {
    if WITHOUT_OLD_SDK.iter().any(|printed| problem.message.contains(printed)) {
        let how = "\nIt was written for a2a-sdk 0.3, which requires = [\"python:a2a-sdk[http-server]<1\"] in [harness] installs.";
        return Problem { message: problem.message + how, ..problem };
    }
    if is_manifest(&scenario.path) {
        return problem;
    }
    let agent = scenario.agents().find(|agent| agent.role == role);
    if let Some(how) = agent.and_then(unreplaced_in) {
        let message = format!("{}\n{how}", problem.message);
        return Problem { message, ..problem };
    }
    if !scenario.harness.declared {
        let how = "\nA table [harness] that is added to this file needs version = 1, and env = \"inherit\" if the agents use your \
                   environment, as they do without the table. Its requires = [\"python:.\"] installs the project of this folder, \
                   and requires = [\"python:NAME\"] another package.";
        return Problem { message: problem.message + how, ..problem };
    }
    let environment = EnvVars::load(&options.working_dir).ok();
    let (Some(environment), Some(agent), false) = (environment, agent, scenario.harness.inherit)
    else {
        return problem;
    };
    let withheld = environment.withheld(&agent.inherits, &agent.env, &problem.message);
    if withheld.is_empty() {
        return problem;
    }
    let message = format!(
        "{}\nVariables that are set, but that {role} does not get: pass_env = {withheld:?} passes them.",
        problem.message
    );
    Problem { message, ..problem }
}

/// Waits until an agent of this process answers; returns the error if it does not.
async fn served(server: &LocalServer, limit: Duration) -> Result<(), String> {
    let ready = timeout(limit, server.ready()).await;
    ready.unwrap_or_else(|_| Err(format!("it was not ready within {limit:?}")))
}
