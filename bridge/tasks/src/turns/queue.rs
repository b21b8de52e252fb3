//! Orders the turns of each conversation, and signals cancelations to running turns.
//!
//! The queues only order the work in this process; everything that must survive the process is in the log.

use std::collections::{
    BTreeMap, VecDeque,
    hash_map::{Entry, VacantEntry},
};

use bridge_telemetry::TraceContext;

use super::{
    CancelSignal,
    agent_places::CountedTurn,
    lock,
    sync::{Arc, Mutex, MutexGuard},
};
use crate::{
    agent::{Agent, ConversationScope},
    caller::Caller,
    store::{Head, Unordered},
};

/// A queued or running turn.
#[derive(Debug)]
pub(super) struct TurnJob {
    pub(super) agent: Arc<str>,
    pub(super) caller: Caller,
    pub(super) task: Arc<str>,
    pub(super) turn: u64,
    /// Whether the caller streams the answer; false after a restart.
    pub(super) is_watched: bool,
    /// The request with the message; none after a restart.
    pub(super) cause: TraceContext,
    /// Counts the turn as one of its agent's.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(super) unended: Option<CountedTurn>,
}

impl TurnJob {
    /// Returns whether both are the same turn.
    fn is(&self, other: &Self) -> bool {
        self.task == other.task && self.turn == other.turn
    }
}

/// Identifies a conversation: turns with the same key run one at a time.
pub(super) type ConversationKey = Arc<(Arc<str>, Caller, Arc<str>)>;

/// Returns the key of the conversation to which a task belongs.
pub(super) fn conversation_key(
    agent: &Agent,
    caller: &Caller,
    task: &Arc<str>,
    context: &Arc<str>,
) -> ConversationKey {
    let conversation = match agent.settings.conversation {
        ConversationScope::Task => task,
        ConversationScope::Context => context,
    };
    Arc::new((Arc::clone(&agent.name), caller.clone(), Arc::clone(conversation)))
}

/// Returns the keys under which the turns of a task may run: the agent's conversation scope may have changed since they
/// began, and the agent may not be hosted any more.
pub(super) fn possible_keys(head: &Head) -> [ConversationKey; 2] {
    [&head.task, &head.context_id].map(|conversation| {
        Arc::new((Arc::clone(&head.agent), head.owner.clone(), Arc::clone(conversation)))
    })
}

#[derive(Debug)]
struct ConversationQueue {
    running: Arc<TurnJob>,
    cancel_signal: CancelSignal,
    waiting: VecDeque<WaitingTurn>,
    /// Whether someone found the conversation occupied.
    is_wanted: bool,
}

#[derive(Debug)]
struct WaitingTurn {
    job: Arc<TurnJob>,
    /// A turn takes its place before it is logged, so that turns run in the order of the log.
    is_logged: bool,
}

/// The turn that is next in a conversation.
#[derive(Debug)]
pub(super) enum NextTurn {
    /// The turn can run.
    Ready(Arc<TurnJob>, CancelSignal),
    /// The turn is not in the log yet. The conversation is occupied by the turn, and its submitter continues there.
    Unlogged,
    /// No turn waits.
    Nothing,
}

/// The state of a turn when its log entry has been written, or refused.
#[derive(Debug)]
pub(super) enum Placed {
    /// The turn waits for the turns before it.
    Waiting,
    /// The conversation is the submitter's: the turns before this one have ended.
    Due(CancelSignal),
    /// The turn has no place in the queue.
    Gone,
}

/// The conversations in which a turn runs.
#[derive(Debug, Default)]
pub(super) struct ConversationQueues(Mutex<Unordered<ConversationKey, ConversationQueue>>);

impl ConversationQueues {
    /// Occupies a conversation if it is free, and returns whether it was.
    pub(super) fn occupy(&self, key: &ConversationKey, job: Arc<TurnJob>) -> bool {
        match self.lock().entry(Arc::clone(key)) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().is_wanted = true;
                false
            }
            Entry::Vacant(place) => {
                insert_running(place, job);
                true
            }
        }
    }

    /// Starts a turn if its conversation is free, and returns its cancelation signal. Otherwise appends the turn to the queue
    /// and returns the number of turns that waited before; if it is not in the log yet, [`settle`](Self::settle) must
    /// follow.
    pub(super) fn enter(
        &self,
        key: &ConversationKey,
        job: &Arc<TurnJob>,
        is_logged: bool,
    ) -> Result<CancelSignal, usize> {
        match self.lock().entry(Arc::clone(key)) {
            Entry::Occupied(mut queue) => {
                let queue = queue.get_mut();
                queue.is_wanted = true;
                queue.waiting.push_back(WaitingTurn { job: Arc::clone(job), is_logged });
                Err(queue.waiting.len() - 1)
            }
            Entry::Vacant(place) => Ok(insert_running(place, Arc::clone(job))),
        }
    }

    /// Notes that a waiting turn is in the log now, or removes the turn because the log refused it.
    pub(super) fn settle(
        &self,
        key: &ConversationKey,
        job: &Arc<TurnJob>,
        is_logged: bool,
    ) -> Placed {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(key) else {
            return Placed::Gone;
        };
        if Arc::ptr_eq(&queue.running, job) {
            return Placed::Due(queue.cancel_signal.clone());
        }
        let mut waiting = queue.waiting.iter();
        let Some(place) = waiting.position(|one| Arc::ptr_eq(&one.job, job)) else {
            return Placed::Gone;
        };
        if is_logged {
            queue.waiting[place].is_logged = true;
            return Placed::Waiting;
        }
        queue.waiting.remove(place);
        Placed::Gone
    }

    /// Returns whether the turn runs or waits in this conversation.
    pub(super) fn contains(&self, key: &ConversationKey, job: &TurnJob) -> bool {
        let queues = self.lock();
        let queue = queues.get(key);
        queue.is_some_and(|queue| {
            queue.running.is(job) || queue.waiting.iter().any(|one| one.job.is(job))
        })
    }

    /// Removes the running turn and starts the next one. If no turn waits, the conversation becomes free.
    pub(super) fn next(&self, key: &ConversationKey) -> NextTurn {
        let mut queues = self.lock();
        let next = queues.get_mut(key).map(ConversationQueue::advance);
        let next = next.unwrap_or(NextTurn::Nothing);
        if matches!(next, NextTurn::Nothing) {
            queues.remove(key);
        }
        next
    }

    /// Starts the next waiting turn. If no turn waits, the conversation stays occupied.
    pub(super) fn next_waiting(&self, key: &ConversationKey) -> NextTurn {
        let mut queues = self.lock();
        let next = queues.get_mut(key).map(ConversationQueue::advance);
        next.unwrap_or(NextTurn::Nothing)
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
            queue.waiting.retain(|one| *one.job.task != *task);
            if *queue.running.task == *task {
                queue.cancel_signal.cancel();
            }
        }
    }

    /// Returns the numbers of running and waiting turns of each agent.
    pub(super) fn load(&self) -> BTreeMap<Arc<str>, (usize, usize)> {
        let mut load = BTreeMap::<_, (usize, usize)>::new();
        for (key, queue) in &*self.lock() {
            let (running, waiting) = load.entry(Arc::clone(&key.0)).or_default();
            *running += 1;
            *waiting += queue.waiting.len();
        }
        load
    }

    fn lock(&self) -> MutexGuard<'_, Unordered<ConversationKey, ConversationQueue>> {
        lock(&self.0)
    }
}

impl ConversationQueue {
    /// Replaces the running turn by the first waiting one.
    fn advance(&mut self) -> NextTurn {
        let Some(next) = self.waiting.pop_front() else {
            return NextTurn::Nothing;
        };
        self.running = Arc::clone(&next.job);
        self.cancel_signal = CancelSignal::default();
        match next.is_logged {
            true => NextTurn::Ready(next.job, self.cancel_signal.clone()),
            false => NextTurn::Unlogged,
        }
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
