//! Bounds the turns of each agent: so many run at once, and so many messages are taken altogether. A turn that waits is in
//! the log, and needs little memory; but an agent that is too slow would otherwise fill the disk with what nobody answers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bridge_program::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::TurnLimits;

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
    unended: AtomicUsize,
    bytes: AtomicUsize,
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
        let entered = self.enter_anyway(agent, bytes);
        let turns = entered.agent.unended.load(Ordering::Relaxed);
        let all = entered.agent.bytes.load(Ordering::Relaxed);
        // One message is taken whatever its size: the body's limit holds for it.
        let is_full = turns > at_once.saturating_add(waiting) || (all > waiting_bytes && turns > 1);
        match is_full {
            true => Err(turns - 1),
            false => Ok(entered),
        }
    }

    /// The same for a turn that is in the log already.
    pub(super) fn enter_anyway(&self, agent: &str, bytes: usize) -> Unended {
        let agent = self.of(agent);
        agent.unended.fetch_add(1, Ordering::Relaxed);
        agent.bytes.fetch_add(bytes, Ordering::Relaxed);
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
            unended: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        });
        agents.insert(agent.to_owned(), new.clone());
        new
    }
}

impl Drop for Unended {
    fn drop(&mut self) {
        self.agent.unended.fetch_sub(1, Ordering::Relaxed);
        self.agent.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_takes_so_many_messages_and_so_many_bytes() {
        let places = AgentPlaces::new(TurnLimits {
            at_once: 1,
            waiting: 2,
            waiting_bytes: 100,
            ..TurnLimits::default()
        });
        let first = places.enter("slow", 1_000).unwrap();
        assert_eq!(
            places.enter("slow", 1).unwrap_err(),
            1,
            "its bytes are used up"
        );
        drop(first);
        let taken: Vec<_> = (0..3).map(|_| places.enter("slow", 10).unwrap()).collect();
        assert_eq!(places.enter("slow", 10).unwrap_err(), 3);
        assert!(places.enter("other", 10).is_ok());
        drop(taken);
        assert!(places.enter("slow", 10).is_ok());
        let running = places.try_run("slow").unwrap();
        assert!(places.try_run("slow").is_none() && places.try_run("other").is_some());
        drop(running);
        assert!(places.try_run("slow").is_some());
    }
}
