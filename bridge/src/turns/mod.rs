//! Runs turns: logs messages, calls agents one after the other, and logs what the agents answer.
//!
//! A turn is logged as queued before it starts and as started before the agent is called, so that after a restart
//! it is known which agents may have seen their message. Turns of one conversation run one at a time, in the order
//! of their messages.
//!
//! - `submit`: accepts a message
//! - `run`: runs one turn, from the call of the agent to the end
//! - `cancel`: cancels tasks for their callers
//! - `expiry`: cancels tasks whose callers do not answer
//! - `timer_heartbeat`: makes timers cheap
//! - `recover`: continues after a restart
//! - `leased`: shares conversations with other processes on the same store
//! - `repeated_message`: compares messages with the same id
//! - `memory_budget`: limits the memory of running turns
//! - `unlogged_ends`: retries ends of turns that the store does not accept
//! - `open_artifacts`: closes artifacts that an interrupted turn leaves open
//! - [`Follower`]: reads a task's log as it grows
//! - `event_projection`: converts log entries to stream items

mod cancel;
mod event_projection;
mod expiry;
mod follower;
mod leased;
mod memory_budget;
mod open_artifacts;
mod queue;
mod recover;
mod repeated_message;
mod run;
mod submit;
#[cfg(test)]
mod tests;
mod timer_heartbeat;
mod turn_events;
mod unlogged_ends;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, Once, PoisonError, RwLock},
};

pub(crate) use event_projection::{EventProjection, snapshot_at};
pub use follower::Follower;

pub use submit::{IncomingMessage, Submitted};

use crate::{
    agent::Agent,
    metrics::Metrics,
    store::{Leases, ListPosition, MeteredStore, Seq, Store, StoreError},
};
use memory_budget::MemoryBudget;
use queue::ConversationQueues;
pub(crate) use unlogged_ends::UnloggedEnd;
use unlogged_ends::UnloggedEnds;

/// Runs the turns of all agents on one store.
#[derive(Clone, Debug)]
pub struct Turns(Arc<TurnsInner>);

type Agents = BTreeMap<String, Arc<Agent>>;

#[derive(Debug)]
struct TurnsInner {
    store: Arc<dyn Store>,
    leases: Option<Arc<dyn Leases>>,
    agents: RwLock<Arc<Agents>>,
    queues: ConversationQueues,
    memory_budget: MemoryBudget,
    unlogged_ends: UnloggedEnds,
    metrics: Metrics,
    expiry_started: Once,
    /// The last task of each agent that was checked for expiry; none before it is waiting.
    last_checked: Mutex<BTreeMap<String, ListPosition>>,
    heartbeat: Once,
}

/// The reason why a message was not accepted or a task not canceled.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The task does not exist, or belongs to another caller or agent.
    #[error("task {task} not found")]
    NotFound {
        /// The task.
        task: String,
    },
    /// The task has ended and accepts no messages.
    #[error("task {task} has ended: send the message without taskId to begin another")]
    Ended {
        /// The task.
        task: String,
    },
    /// The message names another context than its task's.
    #[error("task {task} belongs to context {actual}, not {named}")]
    OtherContext {
        /// The task.
        task: String,
        /// The task's context.
        actual: String,
        /// The context in the message.
        named: String,
    },
    /// Another message has the same id.
    #[error(
        "message {message_id} is in task {task} already, and differs from this one in {differs}"
    )]
    OtherMessage {
        /// The id.
        message_id: String,
        /// The task of the earlier message.
        task: String,
        /// The name of the first field that differs.
        differs: &'static str,
    },
    /// The task has changed since the event that the caller has seen last, or that event does not exist yet.
    #[error("task {task} is at event {newest}, not {seen}")]
    MovedOn {
        /// The task.
        task: String,
        /// The task's last event.
        newest: Seq,
        /// The last event that the caller has seen.
        seen: Seq,
    },
    /// The conversation's queue is full.
    #[error("{waiting} turns wait in this conversation already: send the message again later")]
    Busy {
        /// The number of waiting turns.
        waiting: usize,
    },
    /// Running turns use all of their memory, or all of this caller's share.
    #[error("the agents have no room for another message at present: send it again later")]
    OutOfMemory {
        /// The memory that the turn would need, in bytes.
        bytes: usize,
    },
    /// The agent does not exist.
    #[error("there is no agent {agent}")]
    NoAgent {
        /// The agent's name.
        agent: String,
    },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(#[source] StoreError),
}

impl From<StoreError> for TurnError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { task } => Self::NotFound { task },
            StoreError::Ended { task } => Self::Ended { task },
            other => Self::Store(other),
        }
    }
}

impl Turns {
    /// Creates the turns of these agents, with their tasks in this store.
    pub fn new(store: Arc<dyn Store>, agents: impl IntoIterator<Item = Agent>) -> Self {
        Self::with_memory(memory_budget::DEFAULT_BYTES, store, agents)
    }

    /// The same as [`new`](Self::new), with a limit for the memory of all running turns, in bytes. A quarter is
    /// reserved for small turns, and one caller gets at most half.
    pub fn with_memory(
        memory: usize,
        store: Arc<dyn Store>,
        agents: impl IntoIterator<Item = Agent>,
    ) -> Self {
        let metrics = Metrics::default();
        let agents = named(agents);
        agents.values().for_each(|agent| agent.executor.on_added());
        Self(Arc::new(TurnsInner {
            leases: store.leases(),
            store: Arc::new(MeteredStore::new(store, metrics.clone())),
            agents: RwLock::new(agents),
            queues: ConversationQueues::default(),
            memory_budget: MemoryBudget::new(memory),
            unlogged_ends: UnloggedEnds::default(),
            metrics,
            expiry_started: Once::new(),
            last_checked: Mutex::default(),
            heartbeat: Once::new(),
        }))
    }

    /// Returns the store of all tasks.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Returns the metrics.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns the metrics, with current values for running and waiting turns and for damage of the store.
    pub fn measured(&self) -> &Metrics {
        let mut load = self.0.queues.load();
        for agent in self.agents().keys() {
            let (running, queued) = load.remove(agent).unwrap_or_default();
            self.0.metrics.load(agent, running, queued);
        }
        let damage = self.0.store.damage();
        self.0.metrics.damage(damage.tasks, damage.bytes);
        &self.0.metrics
    }

    /// Returns the number of turns that run.
    pub(crate) fn running(&self) -> usize {
        let load = self.0.queues.load().into_values();
        load.map(|(running, _)| running).sum()
    }

    /// Returns the names of all agents.
    pub(crate) fn agent_names(&self) -> Vec<String> {
        self.agents().keys().cloned().collect()
    }

    /// Returns an agent by name.
    pub fn agent(&self, name: &str) -> Option<Arc<Agent>> {
        self.agents().get(name).cloned()
    }

    /// Replaces all agents at once and returns the names of the new ones. Running turns end with the agent with which
    /// they began; waiting turns of agents that no longer exist fail when they are due.
    pub fn replace(&self, agents: impl IntoIterator<Item = Agent>) -> BTreeSet<String> {
        let agents = named(agents);
        agents.values().for_each(|agent| agent.executor.on_added());
        let before = {
            let mut current = self
                .0
                .agents
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, agents.clone())
        };
        before
            .values()
            .for_each(|agent| agent.executor.on_removed());
        let is_new = |name: &&String| !before.contains_key(*name);
        agents.keys().filter(is_new).cloned().collect()
    }

    fn agents(&self) -> Arc<Agents> {
        self.0
            .agents
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn known_agent(&self, name: &str) -> Result<Arc<Agent>, TurnError> {
        self.agent(name).ok_or_else(|| TurnError::NoAgent {
            agent: name.to_owned(),
        })
    }
}

fn named(agents: impl IntoIterator<Item = Agent>) -> Arc<Agents> {
    let agents = agents.into_iter();
    Arc::new(
        agents
            .map(|agent| (agent.name.clone(), Arc::new(agent)))
            .collect(),
    )
}
