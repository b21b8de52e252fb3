//! The programs of one trial, or of many, with their ports, tokens and the addresses at which they reach each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use bridge_program::chain;
use mcp_tools::secret::Secret;
use tokio::time::sleep;
use url::Url;

use super::{
    Problem, ProblemKind,
    hops::to_environment,
    owner,
    trial_agents::{AgentStart, TrialAgents, log_path},
    watch,
};
use crate::{
    participant::{ActivityListener, AgentProcess, ports::PortLease},
    recorder::{HopListeners, Masker},
    scenario::model::{Agent, Green, Scenario, ServerKind},
    transcript::{Transcript, task},
};

/// The time without output after which an agent's log continues in the next trial's folder: agents often print
/// something about a request after the answer.
const SETTLED: Duration = Duration::from_millis(5);

/// The largest number of such waits.
const SETTLING: usize = 10;

/// The programs of a scenario's agents.
#[derive(Default)]
pub(super) struct AgentSet {
    /// All agents of the scenario, as they were when the programs were started.
    agents: Vec<Agent>,
    pub(super) processes: Vec<AgentProcess>,
    /// The roles of those that are no agents.
    servers: BTreeSet<String>,
    /// The addresses of the programs that run, by role.
    endpoints: BTreeMap<String, Url>,
    /// The reservations of their ports.
    pub(super) ports: Vec<PortLease>,
    /// The listeners at which they reach each other; empty unless the programs are kept.
    pub(super) listeners: HopListeners,
    tokens: BTreeMap<String, Secret>,
    masker: Masker,
    /// The transcript of the current trial.
    transcript: Arc<RwLock<Option<Transcript>>>,
}

impl AgentSet {
    /// Returns whether the programs have been running since an earlier trial.
    pub(super) fn is_running(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Returns whether these are the agents of the scenario, with the same settings.
    pub(super) fn is_of(&self, scenario: &Scenario) -> bool {
        scenario.agents().eq(&self.agents)
    }

    /// Returns the address of a running program.
    pub(super) fn endpoint(&self, role: &str) -> Option<&Url> {
        self.endpoints.get(role)
    }

    /// Returns the tokens and the masker with which the running programs were started.
    pub(super) fn secrets(&self) -> Option<(BTreeMap<String, Secret>, Masker)> {
        if !self.is_running() {
            return None;
        }
        self.masker.begin_trial();
        for token in self.tokens.values() {
            self.masker.learn(token.expose());
        }
        Some((self.tokens.clone(), self.masker.clone()))
    }

    /// Begins a trial: output of agents counts as activity in its transcript, and the running programs write their
    /// output to its folder.
    pub(super) fn begin(
        &mut self,
        scenario: &Scenario,
        folder: &Path,
        transcript: &Transcript,
    ) -> Result<(), Problem> {
        *self.transcript.write().unwrap_or_else(PoisonError::into_inner) = Some(transcript.clone());
        let servers = scenario.agents().filter(|one| one.server_kind == ServerKind::Server);
        self.servers = servers.map(|one| one.role.clone()).collect();
        for process in &self.processes {
            let switched = process.log_to(&log_path(folder, process.role()));
            switched.map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        }
        // Only the details that a participant receives in a trial name this address: an agent that still works in the
        // episode of an earlier trial must not reach this trial's episode.
        if let (Green::Builtin(_), Some(worker)) = (&scenario.green, scenario.worker()) {
            self.listeners.close(&to_environment(&worker.role));
        }
        Ok(())
    }

    /// Returns the function that is called with what agents print.
    pub(super) fn on_activity(&self) -> ActivityListener {
        let transcript = self.transcript.clone();
        Arc::new(move |text| {
            let transcript = transcript.read().unwrap_or_else(PoisonError::into_inner);
            transcript.as_ref().is_none_or(|transcript| transcript.printed(text))
        })
    }

    /// Keeps the programs that were started in a trial, with their tokens and addresses.
    pub(super) fn keep(&mut self, scenario: &Scenario, agents: TrialAgents) {
        if self.is_running() {
            return;
        }
        self.agents = scenario.agents().cloned().collect();
        self.tokens = agents.tokens;
        self.masker = agents.masker;
        for handle in agents.handles {
            if let (AgentStart::Program { port, .. }, Some(url)) = (handle.start, handle.endpoint) {
                self.endpoints.insert(handle.role, url);
                self.ports.extend(port);
            }
        }
    }

    /// Waits until the agents print nothing more, so that their lines are in the log of the right trial.
    pub(super) async fn settle(&self) {
        let lines = || -> u64 { self.processes.iter().map(AgentProcess::lines_read).sum() };
        for _ in 0..SETTLING {
            let before = lines();
            sleep(SETTLED).await;
            if lines() == before {
                return;
            }
        }
    }

    /// Returns why the agents cannot be used for another trial, if one of them is still busy with this one.
    pub(super) fn busy(&self, transcript: &Transcript) -> Option<String> {
        let entries = match transcript.entries() {
            Ok(entries) => entries,
            Err(error) => return Some(chain(&error)),
        };
        if let Some(role) = owner::still_answering(&entries) {
            return Some(format!("{role} had not answered when the trial ended"));
        }
        let role = task::still_running(&entries)?;
        Some(format!("a task of {role} had not ended when the trial ended"))
    }

    /// Returns which program has ended by itself, with its exit status and its last output.
    pub(super) fn ended(&self) -> Option<String> {
        let ended = self.processes.iter().find_map(|process| {
            let exit = process.exited()?;
            Some((process, exit))
        });
        let (process, exit) = ended?;
        Some(watch::exit_message(process, exit, "between two trials"))
    }

    /// Stops the programs and releases their ports. Agents end first, because they may end sessions with the servers that
    /// they use, such as those of MCP.
    pub(super) async fn stop(self, grace: Duration) {
        let (servers, agents) =
            self.processes.into_iter().partition(|process| self.servers.contains(process.role()));
        watch::stop(agents, grace).await;
        watch::stop(servers, grace).await;
    }
}

#[cfg(test)]
impl AgentSet {
    /// Returns the programs of a scenario whose trial has begun.
    pub(super) fn fixture(scenario: &Scenario, processes: Vec<AgentProcess>) -> Self {
        Self { agents: scenario.agents().cloned().collect(), processes, ..Self::default() }
    }
}
