//! Runs turns: logs messages, calls agents one after the other, and logs their answers.
//!
//! A turn is logged as queued before it starts and as started before the agent is called, so that after a restart the
//! log shows which agents may have seen their message. Turns of one conversation run one at a time, in the order of
//! their messages.
//!
//! - `submit`: accepts a message
//! - `placement`: decides whether a new turn runs at once or waits
//! - `run`: runs one turn, from its start to its end in the log
//! - `agent_call`: calls the agent for a turn and waits for it
//! - `conversation_slot`: the right to run turns in a conversation
//! - `cancel`: cancels tasks for their callers
//! - `expiry`: cancels tasks whose callers do not answer
//! - `recover`: continues after a restart
//! - `leased`: shares conversations with other processes on the same store
//! - `repeated_message`: compares messages with the same id
//! - `queue`: orders the turns of each conversation
//! - `memory_budget`: limits the memory of running turns
//! - `agent_places`: limits the turns of each agent
//! - `unlogged_ends`: retries beginnings and ends of turns that the store does not accept
//! - `open_artifacts`: closes artifacts that an interrupted turn leaves open
//! - `status_answer`: repeats artifacts in the status, for clients that show none
//! - [`Follower`]: reads a task's log as it grows
//! - `event_projection`: converts log entries to stream items

mod agent_call;
mod agent_places;
mod cancel;
mod conversation_slot;
mod event_projection;
mod expiry;
mod follower;
#[cfg(test)]
mod interleavings;
mod leased;
mod memory_budget;
mod open_artifacts;
mod placement;
mod queue;
mod recover;
mod repeated_message;
mod run;
mod status_answer;
mod submit;
#[cfg(test)]
mod tests;
mod turn_events;
mod unlogged_ends;

use std::{
    collections::{BTreeMap, BTreeSet},
    // The modules that `interleavings` compiles again find replacements under these names.
    sync::{self, Arc, Mutex, Once, PoisonError, RwLock},
    time::Duration,
};

pub use bridge_program::{ResponseMemory, clock::Present};
pub use event_projection::snapshot_at;
pub use follower::Follower;
pub use status_answer::is_bare_message;

pub use submit::{IncomingMessage, Submitted};

use bridge_program::lock;
use tokio::{
    sync::{self as async_sync, Notify, Semaphore},
    time::sleep,
};

use crate::{
    agent::Agent,
    executor::CancelSignal,
    metered::MeteredStore,
    metrics::Metrics,
    store::{Leases, ListPosition, Seq, Store, StoreError},
};
use agent_places::AgentPlaces;
use memory_budget::MemoryBudget;
use queue::ConversationQueues;
pub use unlogged_ends::UnloggedEnd;
use unlogged_ends::UnloggedEnds;

/// The interval of the timer that is always set.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the turns of all agents on one store.
#[derive(Clone, Debug)]
pub struct Turns(Arc<TurnsInner>);

type Agents = BTreeMap<Arc<str>, Arc<Agent>>;

#[derive(Debug)]
struct TurnsInner {
    store: Arc<dyn Store>,
    leases: Option<Arc<dyn Leases>>,
    /// Notified when the store failed, because a turn in the log may then have no process.
    look_again: Arc<Notify>,
    agents: RwLock<Arc<Agents>>,
    queues: ConversationQueues,
    memory_budget: MemoryBudget,
    places: AgentPlaces,
    limits: TurnLimits,
    unlogged_ends: UnloggedEnds,
    /// Permits for waiting for a cancelation whose result was lost.
    lost_results: Arc<Semaphore>,
    metrics: Metrics,
    expiry_started: Once,
    /// The last task of each agent that was checked for expiry; none before it is waiting.
    last_checked: Mutex<BTreeMap<Arc<str>, ListPosition>>,
    heartbeat: Once,
}

/// The limits of turns. The defaults are far above the needs of agents that keep up with their callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// The memory of the messages and tasks of all running turns, in bytes. A quarter is reserved for small turns, and
    /// one caller gets at most half.
    pub memory: usize,
    /// The number of turns of one agent that run at once.
    pub at_once: usize,
    /// The number of turns of one agent that wait, and the size of the messages of all its turns in bytes.
    pub waiting: usize,
    /// The size of the messages of an agent's turns in bytes; see `waiting`.
    pub waiting_bytes: usize,
    /// The size of a task with its history and artifacts, in bytes, above which it accepts no further messages. An
    /// agent may add as much in one turn.
    pub task: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            memory: memory_budget::DEFAULT_BYTES,
            at_once: 4_096,
            waiting: 65_536,
            waiting_bytes: 1 << 30,
            task: 64 << 20,
        }
    }
}

/// The reason why a message was not accepted or a task not canceled.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TurnError {
    /// The task does not exist, or belongs to another caller or agent.
    #[error("task {task} not found")]
    NotFound { task: String },
    /// The task has ended and accepts no messages.
    #[error("task {task} has ended: send the message without taskId to begin another")]
    Ended { task: String },
    /// The message names another context than its task's.
    #[error("task {task} belongs to context {actual}, not {named}")]
    OtherContext { task: String, actual: String, named: String },
    /// Another message has the same id.
    #[error(
        "message {message_id} is in task {task} already, and differs from this one in {differs}"
    )]
    OtherMessage { message_id: String, task: String, differs: &'static str },
    /// The task has changed since the last event that the caller has seen, or that event does not exist yet.
    #[error("task {task} is at event {newest}, not {seen}")]
    MovedOn { task: String, newest: Seq, seen: Seq },
    /// The conversation's queue is full.
    #[error("{waiting} turns wait in this conversation already: send the message again later")]
    Busy { waiting: usize },
    /// Running turns use all of their memory, or all of this caller's share.
    #[error("the memory for running turns is in use at present: send the message again later")]
    OutOfMemory {
        /// The memory that the turn would need, in bytes.
        bytes: usize,
    },
    /// The agent has the largest number of waiting turns.
    #[error("{turns} messages wait for this agent already: send the message again later")]
    AgentBusy { turns: usize },
    /// The task has reached its largest size.
    #[error(
        "task {task} has grown to {bytes} bytes, of at most {limit}: send the message without taskId to begin another"
    )]
    TaskTooLarge { task: String, bytes: usize, limit: usize },
    /// The agent does not exist.
    #[error("there is no agent {agent}")]
    NoAgent { agent: String },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(StoreError),
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
        Self::with_limits(TurnLimits::default(), store, agents)
    }

    /// Does the same as [`new`](Self::new), with other limits.
    pub fn with_limits(
        limits: TurnLimits,
        store: Arc<dyn Store>,
        agents: impl IntoIterator<Item = Agent>,
    ) -> Self {
        let metrics = Metrics::default();
        let agents = named(agents);
        agents.values().for_each(|agent| agent.executor.on_added());
        Self(Arc::new(TurnsInner {
            leases: store.leases(),
            look_again: Arc::default(),
            store: Arc::new(MeteredStore::new(store, metrics.clone())),
            agents: RwLock::new(agents),
            queues: ConversationQueues::default(),
            memory_budget: MemoryBudget::new(limits.memory),
            places: AgentPlaces::new(limits),
            limits,
            unlogged_ends: UnloggedEnds::default(),
            lost_results: Arc::new(Semaphore::new(cancel::LOST_RESULTS)),
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
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns the metrics, with current values for running and waiting turns, for damage of the store, and for the
    /// work that several bridges share.
    pub fn measured(&self) -> &Metrics {
        let mut load = self.0.queues.load();
        // An agent without turns is shown, too, and one that was removed as long as it has any.
        for agent in self.agents().keys() {
            load.entry(agent.clone()).or_default();
        }
        self.0.metrics.load(&load);
        let damage = self.0.store.damage();
        self.0.metrics.damage(damage.tasks, damage.bytes);
        if let Some(sharing) = self.leases().and_then(|leases| leases.sharing()) {
            self.0.metrics.shared(&sharing);
        }
        &self.0.metrics
    }

    /// Returns the number of turns that run.
    pub fn running(&self) -> usize {
        let load = self.0.queues.load().into_values();
        load.map(|(running, _)| running).sum()
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
            let mut current = self.0.agents.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, agents.clone())
        };
        before.values().for_each(|agent| agent.executor.on_removed());
        let is_new = |name: &&Arc<str>| !before.contains_key(*name);
        agents.keys().filter(is_new).map(ToString::to_string).collect()
    }

    /// Keeps a timer set as long as these turns exist, which makes all other timers cheap: each message sets timers of
    /// minutes and removes them again, and tokio wakes its reactor, with two system calls, whenever a new timer is the
    /// earliest one.
    fn keep_heartbeat(&self) {
        let held = Arc::downgrade(&self.0);
        let heartbeat = async move {
            while held.strong_count() > 0 {
                sleep(HEARTBEAT_INTERVAL).await;
            }
        };
        self.0.heartbeat.call_once(|| drop(tokio::spawn(heartbeat)));
    }

    fn agents(&self) -> Arc<Agents> {
        self.0.agents.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn named(agents: impl IntoIterator<Item = Agent>) -> Arc<Agents> {
    let agents = agents.into_iter();
    Arc::new(agents.map(|agent| (Arc::clone(&agent.name), Arc::new(agent))).collect())
}
