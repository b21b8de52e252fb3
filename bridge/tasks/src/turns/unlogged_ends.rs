//! Tracks turns whose beginning or end the store does not accept, so that waiting clients get an error instead of waiting
//! for disk space.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bridge_program::lock;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{Turns, queue::TurnJob};
use crate::{executor::EmitError, store::StoreError};

/// The first and the longest delay between attempts to log the beginning or the end of a turn.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];

/// The time after which waiting clients are informed that the store refuses the events of a turn.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// The reason why the end of a turn is not in the log. Except for the last one, logging is retried until it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnloggedEnd {
    /// The store has no space.
    Full,
    /// The index of the store is being rebuilt.
    Rebuilding,
    /// The store cannot be reached, or accepts nothing.
    Unavailable,
    /// The store fails for another reason, which is in the program's own log.
    Failing,
    /// This process will not log it. After a restart the turn is open.
    Lost,
}

impl UnloggedEnd {
    fn retried(error: &StoreError) -> Self {
        match error {
            StoreError::Full { .. } => Self::Full,
            StoreError::Rebuilding => Self::Rebuilding,
            StoreError::Unavailable { .. } => Self::Unavailable,
            _ => Self::Failing,
        }
    }
}

/// The turns whose end was refused, by task.
#[derive(Debug, Default)]
pub(super) struct UnloggedEnds {
    turns: Mutex<BTreeMap<Arc<str>, BTreeMap<u64, UnloggedEnd>>>,
    /// Notified when a turn is added.
    added: Notify,
}

impl UnloggedEnds {
    pub(super) fn add(&self, job: &TurnJob, unlogged_end: UnloggedEnd) {
        let mut tasks = self.lock();
        let turns = tasks.entry(Arc::clone(&job.task)).or_default();
        turns.insert(job.turn, unlogged_end);
        drop(tasks);
        self.added.notify_waiters();
    }

    fn remove(&self, job: &TurnJob) {
        let mut tasks = self.lock();
        if let Some(turns) = tasks.get_mut(&job.task) {
            turns.remove(&job.turn);
            if turns.is_empty() {
                tasks.remove(&job.task);
            }
        }
    }

    /// Returns the state of this turn, or of the last one before it in its task that it waits for. It does not wait for one
    /// that is lost.
    fn find(&self, task: &str, turn: u64) -> Option<UnloggedEnd> {
        let tasks = self.lock();
        let mut turns = tasks.get(task)?.range(..=turn).rev();
        let concerns =
            |(one, end): &(&u64, &UnloggedEnd)| **one == turn || **end != UnloggedEnd::Lost;
        turns.find(concerns).map(|(_, end)| *end)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, BTreeMap<u64, UnloggedEnd>>> {
        lock(&self.turns)
    }
}

impl Turns {
    /// Waits until the store has refused the end of this turn, or of an earlier one in the same task, for so long that
    /// clients should stop waiting. Never returns otherwise.
    pub async fn unlogged_end(&self, task: &str, turn: u64) -> UnloggedEnd {
        let unlogged_ends = &self.0.unlogged_ends;
        loop {
            // The waiter is registered before the check, so that no notification is missed.
            let added = unlogged_ends.added.notified();
            match unlogged_ends.find(task, turn) {
                Some(unlogged_end) => return unlogged_end,
                None => added.await,
            }
        }
    }

    /// Returns the number of turns whose end the store refused: those that are retried, and those that are lost.
    pub fn unlogged_end_count(&self) -> usize {
        self.0.unlogged_ends.lock().values().map(BTreeMap::len).sum()
    }
}

/// Retries to log the beginning or the end of a turn while the store refuses it. No other outcome of the turn would be true.
pub(super) struct StoreRetry<'a> {
    unlogged_ends: &'a UnloggedEnds,
    job: &'a TurnJob,
    pause: Duration,
    /// The time of the first refusal. The turn may have waited long for its agent before.
    since: Option<Instant>,
    is_reported: bool,
}

impl<'a> StoreRetry<'a> {
    pub(super) fn new(unlogged_ends: &'a UnloggedEnds, job: &'a TurnJob) -> Self {
        Self { unlogged_ends, job, pause: RETRY_PAUSES[0], since: None, is_reported: false }
    }

    /// Returns the result of an attempt; after a delay, `None` if it must be retried.
    pub(super) async fn next_attempt<T>(
        &mut self,
        tried: Result<T, EmitError>,
    ) -> Option<Result<T, EmitError>> {
        match tried {
            Err(EmitError::Store(error)) if error.is_temporary() => {
                let TurnJob { task, turn, .. } = self.job;
                if !error.is_reported_by_store() {
                    tracing::warn!(task = &**task, turn, %error, "a turn waits until the store accepts its events");
                }
                let since = *self.since.get_or_insert_with(Instant::now);
                if self.is_reported || since.elapsed() >= REPORT_AFTER {
                    self.is_reported = true;
                    self.unlogged_ends.add(self.job, UnloggedEnd::retried(&error));
                }
                Box::pin(sleep(self.pause)).await;
                self.pause = (self.pause * 2).min(RETRY_PAUSES[1]);
                None
            }
            done => Some(done),
        }
    }
}

impl Drop for StoreRetry<'_> {
    fn drop(&mut self) {
        if self.is_reported {
            self.unlogged_ends.remove(self.job);
        }
    }
}
