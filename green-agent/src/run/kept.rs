//! `reuse = "agents"`: keeps the programs of agents from one trial to the next.
//!
//! A trial takes a set of programs that no other trial uses, or starts one. The set is kept afterwards unless something
//! went wrong: programs that crashed, hung, or are still busy with the trial are replaced. The number of sets,
//! including those that wait for a trial, never exceeds the number of concurrent trials.

use std::{mem, sync::Mutex, time::Duration};

use super::{RunEvent, RunOptions, agent_set::AgentSet, port_leases};
use crate::scenario::model::{Reuse, Scenario};
use bridge_program::lock;

/// The programs of agents that wait for another trial.
pub(super) struct IdleAgents {
    /// The largest number of sets.
    most: usize,
    sets: Mutex<Sets>,
}

#[derive(Default)]
struct Sets {
    /// The number of sets that a trial uses.
    in_use: usize,
    /// The waiting sets; the first has waited longest.
    waiting: Vec<WaitingSet>,
}

struct WaitingSet {
    scenario: String,
    grace: Duration,
    agents: AgentSet,
}

impl IdleAgents {
    /// Creates an empty store for the agents of this many concurrent trials.
    pub(super) fn new(jobs: usize) -> Self {
        Self { most: jobs.max(1), sets: Mutex::default() }
    }

    /// Returns the programs of an earlier trial, or an empty set, whose programs must be started.
    pub(super) async fn take(&self, scenario: &Scenario, options: &RunOptions) -> AgentSet {
        if scenario.harness.reuse == Reuse::Nothing {
            return AgentSet::default();
        }
        let (found, dismissed) = lock(&self.sets).take(scenario, self.most);
        for waiting in dismissed {
            if let Some(ended) = waiting.agents.ended() {
                tell_restart(&waiting.scenario, ended, options);
            }
            waiting.agents.stop(waiting.grace).await;
        }
        found.unwrap_or_default()
    }

    /// Takes the programs of a trial back.
    pub(super) fn give_back(&self, scenario: &Scenario, agents: AgentSet) {
        if scenario.harness.reuse == Reuse::Nothing {
            return;
        }
        let mut sets = lock(&self.sets);
        sets.in_use -= 1;
        if agents.is_running() {
            sets.waiting.push(WaitingSet {
                scenario: scenario.name.clone(),
                grace: scenario.harness.timeout.stop,
                agents,
            });
        }
    }

    /// Stops the programs of a scenario that has no more trials.
    pub(super) async fn stop(&self, scenario: &str) {
        let is_its = |one: &mut WaitingSet| one.scenario == scenario;
        let ended: Vec<WaitingSet> = lock(&self.sets).waiting.extract_if(.., is_its).collect();
        for one in ended {
            one.agents.stop(one.grace).await;
        }
    }
}

impl Sets {
    /// Returns a waiting set for the scenario, if there is one, and the sets that must be stopped first.
    fn take(&mut self, scenario: &Scenario, most: usize) -> (Option<AgentSet>, Vec<WaitingSet>) {
        let ports = port_leases::ports(scenario);
        let (mut found, mut dismissed) = (None, Vec::new());
        for waiting in mem::take(&mut self.waiting) {
            let is_ours = waiting.scenario == scenario.name && waiting.agents.is_of(scenario);
            if waiting.agents.ended().is_some() {
                dismissed.push(waiting);
            } else if is_ours && found.is_none() {
                found = Some(waiting.agents);
            } else if waiting.agents.ports.iter().any(|lease| ports.contains(&lease.port())) {
                dismissed.push(waiting);
            } else {
                self.waiting.push(waiting);
            }
        }
        self.in_use += 1;
        if self.in_use + self.waiting.len() > most && !self.waiting.is_empty() {
            dismissed.push(self.waiting.remove(0));
        }
        (found, dismissed)
    }
}

/// Reports that the next trial restarts its agents.
pub(super) fn tell_restart(scenario: &str, reason: String, options: &RunOptions) {
    options.emit(RunEvent::AgentsNotKept { scenario: scenario.to_owned(), reason });
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path, sync::Arc};

    use super::*;
    use crate::{
        participant::{AgentProcess, Launch, Supervisor},
        scenario::testing::scenario_of,
    };

    /// Returns a program that ends with exit code 1, because its supervisor does.
    fn failing(folder: &Path) -> AgentProcess {
        let launch = Launch {
            role: "purple".to_owned(),
            argv: vec!["sh".to_owned()],
            env: BTreeMap::new(),
            clean: false,
            path_prepend: Vec::new(),
            working_dir: folder.to_owned(),
            log: folder.join("purple.log"),
            mask: Arc::new(str::to_owned),
            on_activity: Arc::new(|_| true),
            sink: None,
            grace: Duration::ZERO,
            supervisor: Supervisor { program: "false".into() },
        };
        AgentProcess::start(&launch).unwrap()
    }

    #[tokio::test]
    async fn programs_that_ended_or_are_of_others_are_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let of = |port: &str| {
            scenario_of(&format!(
                "[green_agent]\nendpoint = 'http://127.0.0.1:{port}'\ncmd = 'x'\n\
                 [harness]\nversion = 1\nports = 'auto'\nreuse = 'agents'\n"
            ))
        };
        let (ours, other) = (of("9009"), of("9019"));
        let waits = |scenario: &Scenario, programs: Vec<AgentProcess>| WaitingSet {
            scenario: scenario.name.clone(),
            grace: Duration::ZERO,
            agents: AgentSet::fixture(scenario, programs),
        };
        let gone = failing(folder.path());
        gone.wait().await;
        let waiting =
            vec![waits(&ours, vec![gone]), waits(&other, Vec::new()), waits(&ours, Vec::new())];
        let mut sets = Sets { in_use: 0, waiting };
        let (found, dismissed) = sets.take(&ours, 3);
        assert!(found.is_some_and(|set| set.is_of(&ours) && set.ended().is_none()));
        assert_eq!((sets.in_use, sets.waiting.len()), (1, 1));
        let ended = dismissed[0].agents.ended().unwrap();
        assert_eq!(ended, "purple exited with code 1 between two trials");
        assert_eq!(dismissed.len(), 1);
        // One set runs and one waits: a third would be too many.
        let (found, dismissed) = sets.take(&ours, 2);
        assert!(found.is_none());
        assert!(dismissed[0].agents.is_of(&other));
        assert_eq!((sets.in_use, sets.waiting.len()), (2, 0));
    }
}
