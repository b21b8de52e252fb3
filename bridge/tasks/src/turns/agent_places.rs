//! Limits the turns of each agent: the number that run at the same time, and the number and size of accepted messages.
//! A waiting turn is in the log and needs little memory, but the messages of an agent that is too slow would otherwise
//! fill the disk.

use std::collections::BTreeMap;

use super::{
    TurnLimits,
    async_sync::{OwnedSemaphorePermit, Semaphore},
    lock,
    sync::{Arc, Mutex},
};

/// The turns of all agents.
#[derive(Debug)]
pub(super) struct AgentPlaces {
    limits: TurnLimits,
    agents: Mutex<BTreeMap<String, Arc<AgentTurns>>>,
}

#[derive(Debug)]
struct AgentTurns {
    at_once: Arc<Semaphore>,
    unended: Mutex<UnendedTurns>,
}

#[derive(Debug, Default)]
struct UnendedTurns {
    count: usize,
    bytes: usize,
}

/// A count for a turn that has not ended; the turn counts until this is dropped.
#[derive(Debug)]
pub(super) struct CountedTurn {
    agent: Arc<AgentTurns>,
    bytes: usize,
}

/// The right of a turn to run.
#[derive(Debug)]
pub(super) struct RunPermit(
    #[expect(dead_code, reason = "it is there to be dropped")] OwnedSemaphorePermit,
);

impl AgentPlaces {
    pub(super) fn new(limits: TurnLimits) -> Self {
        Self { limits, agents: Mutex::default() }
    }

    /// Counts a turn for a message of this size. If no more turns are allowed, the error is the number of turns that
    /// have not ended.
    pub(super) fn enter(&self, agent: &str, bytes: usize) -> Result<CountedTurn, usize> {
        let TurnLimits { at_once, waiting, waiting_bytes, .. } = self.limits;
        let agent = self.of(agent);
        {
            // Checking and counting is one step, so that refused messages do not count for others.
            let mut unended = lock(&agent.unended);
            let UnendedTurns { count, bytes: held } = *unended;
            // One message is accepted whatever its size: the limit on bodies applies to it.
            let is_full = count >= at_once.saturating_add(waiting)
                || (count > 0 && held.saturating_add(bytes) > waiting_bytes);
            if is_full {
                return Err(count);
            }
            unended.add(bytes);
        }
        Ok(CountedTurn { agent, bytes })
    }

    /// Counts a turn that is in the log already.
    pub(super) fn enter_anyway(&self, agent: &str, bytes: usize) -> CountedTurn {
        let agent = self.of(agent);
        lock(&agent.unended).add(bytes);
        CountedTurn { agent, bytes }
    }

    /// Returns the right to run, if it is available now.
    pub(super) fn try_run(&self, agent: &str) -> Option<RunPermit> {
        let at_once = self.of(agent).at_once.clone();
        at_once.try_acquire_owned().ok().map(RunPermit)
    }

    /// Waits for the right to run, which waiting turns get in the order of their arrival.
    pub(super) async fn run(&self, agent: &str) -> Option<RunPermit> {
        let at_once = self.of(agent).at_once.clone();
        // The semaphores are never closed.
        at_once.acquire_owned().await.ok().map(RunPermit)
    }

    fn of(&self, agent: &str) -> Arc<AgentTurns> {
        let mut agents = lock(&self.agents);
        if let Some(known) = agents.get(agent) {
            return known.clone();
        }
        let at_once = self.limits.at_once.clamp(1, Semaphore::MAX_PERMITS);
        let new = Arc::new(AgentTurns {
            at_once: Arc::new(Semaphore::new(at_once)),
            unended: Mutex::default(),
        });
        agents.insert(agent.to_owned(), new.clone());
        new
    }
}

impl UnendedTurns {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes;
    }
}

impl Drop for CountedTurn {
    fn drop(&mut self) {
        let mut unended = lock(&self.agent.unended);
        unended.count -= 1;
        unended.bytes -= self.bytes;
    }
}
