//! Bounds the turns of each agent: so many run at once, and so many messages are taken altogether. A turn that waits is in
//! the log, and needs little memory; but an agent that is too slow would otherwise fill the disk with what nobody answers.

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

/// The turns of one agent.
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

/// A turn that has not ended counts until this is dropped.
#[derive(Debug)]
pub(super) struct Unended {
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
        Self {
            limits,
            agents: Mutex::default(),
        }
    }

    /// Counts a turn for a message of this size. If no more turns are allowed, the error is the number of those that have
    /// not ended.
    pub(super) fn enter(&self, agent: &str, bytes: usize) -> Result<Unended, usize> {
        let TurnLimits {
            at_once,
            waiting,
            waiting_bytes,
            ..
        } = self.limits;
        let agent = self.of(agent);
        {
            // Checked and counted in one step, so that messages that are refused do not count for others.
            let mut unended = lock(&agent.unended);
            let UnendedTurns { count, bytes: held } = *unended;
            // One message is taken whatever its size: the body's limit holds for it.
            let is_full = count >= at_once.saturating_add(waiting)
                || (count > 0 && held.saturating_add(bytes) > waiting_bytes);
            if is_full {
                return Err(count);
            }
            unended.add(bytes);
        }
        Ok(Unended { agent, bytes })
    }

    /// The same for a turn that is in the log already.
    pub(super) fn enter_anyway(&self, agent: &str, bytes: usize) -> Unended {
        let agent = self.of(agent);
        lock(&agent.unended).add(bytes);
        Unended { agent, bytes }
    }

    /// The right to run now, if there is one.
    pub(super) fn try_run(&self, agent: &str) -> Option<RunPermit> {
        let at_once = self.of(agent).at_once.clone();
        at_once.try_acquire_owned().ok().map(RunPermit)
    }

    /// Waits for the right to run. Those who wait get it in the order in which they came.
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

impl Drop for Unended {
    fn drop(&mut self) {
        let mut unended = lock(&self.agent.unended);
        unended.count -= 1;
        unended.bytes -= self.bytes;
    }
}
