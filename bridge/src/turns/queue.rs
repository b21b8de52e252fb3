//! Which conversations are busy, what waits in them, and how a running turn hears of its end.
//!
//! This is only the order of work within the process: what must survive it stands in the log.

use std::{
    collections::{
        BTreeMap, VecDeque,
        hash_map::{Entry, VacantEntry},
    },
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{
    agent::{Agent, Conversation},
    caller::Caller,
    store::Unordered,
};

/// A turn that waits or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) agent: String,
    pub(super) caller: Caller,
    pub(super) task: String,
    pub(super) turn: u64,
    /// Whether the message's caller watches the answer as it comes; nobody does any more after a restart.
    pub(super) is_watched: bool,
}

impl Job {
    /// Whether both are the same turn.
    fn is(&self, other: &Self) -> bool {
        self.task == other.task && self.turn == other.turn
    }
}

/// What a conversation is known by: turns of the same key run one at a time.
pub(super) type Key = Arc<(String, Caller, String)>;

/// Whose turns come one after the other.
pub(super) fn key(agent: &Agent, caller: &Caller, task: &str, context: &str) -> Key {
    let conversation = match agent.settings.conversation {
        Conversation::Task => task,
        Conversation::Context => context,
    };
    Arc::new((agent.name.clone(), caller.clone(), conversation.to_owned()))
}

#[derive(Debug)]
struct Lane {
    running: Arc<Job>,
    canceled: watch::Sender<bool>,
    waiting: VecDeque<Arc<Job>>,
}

/// The conversations in which something runs.
#[derive(Debug, Default)]
pub(super) struct Queues(Mutex<Unordered<Key, Lane>>);

impl Queues {
    /// Takes the conversation for a turn if nothing runs in it; else tells how many turns wait. What
    /// comes back on success tells the turn of its cancelation.
    pub(super) fn try_start(
        &self,
        key: &Key,
        job: &Arc<Job>,
    ) -> Result<watch::Receiver<bool>, usize> {
        match self.lock().entry(Arc::clone(key)) {
            Entry::Occupied(lane) => Err(lane.get().waiting.len()),
            Entry::Vacant(place) => Ok(begin(place, Arc::clone(job))),
        }
    }

    /// Takes the conversation for a turn, or has it wait behind the others.
    pub(super) fn enter(&self, key: &Key, job: Arc<Job>) -> Option<watch::Receiver<bool>> {
        match self.lock().entry(Arc::clone(key)) {
            Entry::Occupied(mut lane) => {
                lane.get_mut().waiting.push_back(job);
                None
            }
            Entry::Vacant(place) => Some(begin(place, job)),
        }
    }

    /// Whether the turn runs or waits in this conversation.
    pub(super) fn has(&self, key: &Key, job: &Job) -> bool {
        let lanes = self.lock();
        let lane = lanes.get(key);
        lane.is_some_and(|lane| lane.running.is(job) || lane.waiting.iter().any(|one| one.is(job)))
    }

    /// Gives the place to the next, if there is one.
    pub(super) fn leave(&self, key: &Key) -> Option<(Arc<Job>, watch::Receiver<bool>)> {
        let mut lanes = self.lock();
        let lane = lanes.get_mut(key)?;
        let Some(next) = lane.waiting.pop_front() else {
            lanes.remove(key);
            return None;
        };
        let (canceled, receiver) = watch::channel(false);
        lane.running = Arc::clone(&next);
        lane.canceled = canceled;
        Some((next, receiver))
    }

    /// Tells the running turn of a task that it was canceled, and forgets those that wait.
    pub(super) fn cancel(&self, key: &Key, task: &str) {
        if let Some(lane) = self.lock().get_mut(key) {
            lane.waiting.retain(|job| job.task != task);
            if lane.running.task == task {
                lane.canceled.send_replace(true);
            }
        }
    }

    /// How many turns of each agent run and wait.
    pub(super) fn load(&self) -> BTreeMap<String, (usize, usize)> {
        let mut load = BTreeMap::<_, (usize, usize)>::new();
        for (key, lane) in &*self.lock() {
            let (running, waiting) = load.entry(key.0.clone()).or_default();
            *running += 1;
            *waiting += lane.waiting.len();
        }
        load
    }

    fn lock(&self) -> MutexGuard<'_, Unordered<Key, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(place: VacantEntry<'_, Key, Lane>, job: Arc<Job>) -> watch::Receiver<bool> {
    let (canceled, receiver) = watch::channel(false);
    place.insert(Lane {
        running: job,
        canceled,
        waiting: VecDeque::new(),
    });
    receiver
}
