//! Turns: messages are logged, agents are called one after the other, what they say is logged.
//!
//! A turn is queued in the log before it starts and started in the log before the agent is called, so
//! a restart knows which agents may have seen their message. Turns of one conversation run one at a
//! time, in the order in which their messages came.
//!
//! - `submit`: a message comes in
//! - `run`: one turn, from the call of the agent to its end
//! - `cancel`: the caller has enough
//! - `expiry`: nobody answers
//! - `timer_heartbeat`: makes timers cheap
//! - `recover`: after a restart
//! - `repeated_message`: a message whose id came before
//! - `memory_budget`: how much all turns that run hold
//! - `unlogged_ends`: ends of turns that the store does not take
//! - `open_artifacts`: artifacts that a cut off turn leaves open
//! - [`Follower`]: how everybody else reads it
//! - `event_projection`: what they are shown of it

mod cancel;
mod event_projection;
mod expiry;
mod follower;
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
    store::{ListPosition, MeteredStore, Seq, Store, StoreError},
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
    agents: RwLock<Arc<Agents>>,
    queues: ConversationQueues,
    memory_budget: MemoryBudget,
    unlogged_ends: UnloggedEnds,
    metrics: Metrics,
    expiry_started: Once,
    /// The last task of each agent that was looked at for that: those before it wait no more.
    last_checked: Mutex<BTreeMap<String, ListPosition>>,
    heartbeat: Once,
}

/// Why a turn was not taken, or a task not canceled.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// There is no such task, or it belongs to another caller or agent.
    #[error("task {task} not found")]
    NotFound {
        /// The task.
        task: String,
    },
    /// The task has ended, so nothing can be said in it.
    #[error("task {task} has ended: send the message without taskId to begin another")]
    Ended {
        /// The task.
        task: String,
    },
    /// The message names a context that is not its task's.
    #[error("task {task} belongs to context {actual}, not {named}")]
    OtherContext {
        /// The task.
        task: String,
        /// Its context.
        actual: String,
        /// The one that the message names.
        named: String,
    },
    /// The id is that of another message.
    #[error(
        "message {message_id} is in task {task} already, and differs from this one in {differs}"
    )]
    OtherMessage {
        /// The id.
        message_id: String,
        /// The task that holds the message that came before.
        task: String,
        /// The field in which they differ.
        differs: &'static str,
    },
    /// More happened in the task than the message's caller has seen, or not yet so much.
    #[error("task {task} is at event {newest}, not {seen}")]
    MovedOn {
        /// The task.
        task: String,
        /// Its last event.
        newest: Seq,
        /// The last one that the caller has seen.
        seen: Seq,
    },
    /// Too many turns wait already.
    #[error("{waiting} turns wait in this conversation already: send the message again later")]
    Busy {
        /// How many.
        waiting: usize,
    },
    /// The turns that run hold as much as they may together, or those of this caller do.
    #[error("the agents have no room for another message at present: send it again later")]
    OutOfMemory {
        /// How much it would hold.
        bytes: usize,
    },
    /// There is no such agent.
    #[error("there is no agent {agent}")]
    NoAgent {
        /// Its name.
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
    /// Turns of these agents, kept in this store.
    pub fn new(store: Arc<dyn Store>, agents: impl IntoIterator<Item = Agent>) -> Self {
        Self::with_memory(memory_budget::DEFAULT_BYTES, store, agents)
    }

    /// The same where all turns that run hold at most so many bytes together. Small ones have a quarter of that to
    /// themselves, and one caller gets half.
    pub fn with_memory(
        memory: usize,
        store: Arc<dyn Store>,
        agents: impl IntoIterator<Item = Agent>,
    ) -> Self {
        let metrics = Metrics::default();
        let agents = named(agents);
        agents.values().for_each(|agent| agent.executor.on_added());
        Self(Arc::new(TurnsInner {
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

    /// The log that everything is kept in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Where everything is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// How it all does, with the turns that run and wait now.
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

    /// An agent by name.
    pub fn agent(&self, name: &str) -> Option<Arc<Agent>> {
        self.agents().get(name).cloned()
    }

    /// Puts these agents in the place of those there are, all at once, and tells the names of those that
    /// were not there before. Turns that run end with the agent that they began with; those that wait for an
    /// agent that is gone fail when it is their turn.
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
