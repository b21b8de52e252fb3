//! Orders the turns of each conversation, and signals cancelations to running turns.
//!
//! The queues only order the work in this process; everything that must survive the process is in the log.

use std::{
    collections::{
        BTreeMap, VecDeque,
        hash_map::{Entry, VacantEntry},
    },
    sync::{Arc, Mutex, MutexGuard},
};

use bridge_program::lock;
use bridge_telemetry::TraceContext;

use super::agent_places::Unended;
use crate::{
    agent::{Agent, ConversationScope},
    caller::Caller,
    executor::CancelSignal,
    store::Unordered,
};

/// A queued or running turn.
#[derive(Debug)]
pub(super) struct TurnJob {
    pub(super) agent: String,
    pub(super) caller: Caller,
    pub(super) task: String,
    pub(super) turn: u64,
    /// Whether the caller streams the answer; false after a restart.
    pub(super) is_watched: bool,
    /// The request with the message; none after a restart.
    pub(super) cause: TraceContext,
    /// Counts the turn as one of its agent's.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(super) unended: Option<Unended>,
}

impl TurnJob {
    /// Returns whether both are the same turn.
    fn is(&self, other: &Self) -> bool {
        self.task == other.task && self.turn == other.turn
    }
}

/// Identifies a conversation: turns with the same key run one at a time.
pub(super) type ConversationKey = Arc<(String, Caller, String)>;

/// Returns the key of the conversation to which a task belongs.
pub(super) fn conversation_key(
    agent: &Agent,
    caller: &Caller,
    task: &str,
    context: &str,
) -> ConversationKey {
    let conversation = match agent.settings.conversation {
        ConversationScope::Task => task,
        ConversationScope::Context => context,
    };
    Arc::new((agent.name.clone(), caller.clone(), conversation.to_owned()))
}

#[derive(Debug)]
struct ConversationQueue {
    running: Arc<TurnJob>,
    cancel_signal: CancelSignal,
    waiting: VecDeque<Arc<TurnJob>>,
    /// Whether someone found the conversation occupied.
    is_wanted: bool,
}

/// The conversations in which a turn runs.
#[derive(Debug, Default)]
pub(super) struct ConversationQueues(Mutex<Unordered<ConversationKey, ConversationQueue>>);

impl ConversationQueues {
    /// Starts a turn if its conversation is free, and returns its cancelation signal; otherwise returns the number of
    /// waiting turns.
    pub(super) fn try_start(
        &self,
        key: &ConversationKey,
        job: &Arc<TurnJob>,
    ) -> Result<CancelSignal, usize> {
        match self.lock().entry(Arc::clone(key)) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().is_wanted = true;
                Err(queue.get().waiting.len())
            }
            Entry::Vacant(place) => Ok(insert_running(place, Arc::clone(job))),
        }
    }

    /// Starts a turn if its conversation is free, and returns its cancelation signal; otherwise appends the turn to
    /// the queue.
    pub(super) fn enqueue(&self, key: &ConversationKey, job: Arc<TurnJob>) -> Option<CancelSignal> {
        match self.lock().entry(Arc::clone(key)) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().is_wanted = true;
                queue.get_mut().waiting.push_back(job);
                None
            }
            Entry::Vacant(place) => Some(insert_running(place, job)),
        }
    }

    /// Returns whether the turn runs or waits in this conversation.
    pub(super) fn contains(&self, key: &ConversationKey, job: &TurnJob) -> bool {
        let queues = self.lock();
        let queue = queues.get(key);
        queue.is_some_and(|queue| {
            queue.running.is(job) || queue.waiting.iter().any(|one| one.is(job))
        })
    }

    /// Removes the running turn and starts the next one, if there is one.
    pub(super) fn next(&self, key: &ConversationKey) -> Option<(Arc<TurnJob>, CancelSignal)> {
        let mut queues = self.lock();
        let queue = queues.get_mut(key)?;
        let Some(next) = queue.waiting.pop_front() else {
            queues.remove(key);
            return None;
        };
        queue.running = Arc::clone(&next);
        queue.cancel_signal = CancelSignal::default();
        Some((next, queue.cancel_signal.clone()))
    }

    /// Starts the next waiting turn, if there is one. Otherwise the conversation stays occupied.
    pub(super) fn next_waiting(
        &self,
        key: &ConversationKey,
    ) -> Option<(Arc<TurnJob>, CancelSignal)> {
        let mut queues = self.lock();
        let queue = queues.get_mut(key)?;
        let next = queue.waiting.pop_front()?;
        queue.running = Arc::clone(&next);
        queue.cancel_signal = CancelSignal::default();
        Some((next, queue.cancel_signal.clone()))
    }

    /// Makes the conversation free unless a turn waits; returns whether it is.
    pub(super) fn close(&self, key: &ConversationKey) -> bool {
        let mut queues = self.lock();
        let is_empty = queues.get(key).is_none_or(|queue| queue.waiting.is_empty());
        if is_empty {
            queues.remove(key);
        }
        is_empty
    }

    /// Makes the conversation free, and returns whether someone has wanted it meanwhile.
    pub(super) fn abandon(&self, key: &ConversationKey) -> bool {
        let queue = self.lock().remove(key);
        queue.is_some_and(|queue| queue.is_wanted || !queue.waiting.is_empty())
    }

    /// Signals the cancelation to a task's running turn and removes its waiting turns.
    pub(super) fn cancel(&self, key: &ConversationKey, task: &str) {
        if let Some(queue) = self.lock().get_mut(key) {
            queue.waiting.retain(|job| job.task != task);
            if queue.running.task == task {
                queue.cancel_signal.cancel();
            }
        }
    }

    /// Returns the numbers of running and waiting turns of each agent.
    pub(super) fn load(&self) -> BTreeMap<String, (usize, usize)> {
        let mut load = BTreeMap::<_, (usize, usize)>::new();
        for (key, queue) in &*self.lock() {
            let (running, waiting) = load.entry(key.0.clone()).or_default();
            *running += 1;
            *waiting += queue.waiting.len();
        }
        load
    }

    fn lock(&self) -> MutexGuard<'_, Unordered<ConversationKey, ConversationQueue>> {
        lock(&self.0)
    }
}

fn insert_running(
    place: VacantEntry<'_, ConversationKey, ConversationQueue>,
    job: Arc<TurnJob>,
) -> CancelSignal {
    let cancel_signal = CancelSignal::default();
    place.insert(ConversationQueue {
        running: job,
        cancel_signal: cancel_signal.clone(),
        waiting: VecDeque::new(),
        is_wanted: false,
    });
    cancel_signal
}
