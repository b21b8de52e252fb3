//! Turns whose end the store does not take: who waits for one of them is told, and does not wait for room on a disk.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{Turns, queue::Job};
use crate::executor::EmitError;

/// How long is waited before a turn's end is logged again that the store could not take, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];

/// How long the store may refuse a turn's end before those who wait for it are told.
const BOUND: Duration = Duration::from_secs(1);

/// Why a turn's end is not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There was no room for it, and it is tried again until there is.
    Waits,
    /// It never will be by this process. A restart finds the turn open.
    Lost,
}

/// The turns whose end was refused, by their tasks: as many as run, and those that are lost.
#[derive(Debug, Default)]
pub(super) struct Unkept {
    turns: Mutex<BTreeMap<String, BTreeMap<u64, Refusal>>>,
    /// One was put there.
    more: Notify,
}

impl Unkept {
    pub(super) fn put(&self, job: &Job, refusal: Refusal) {
        let mut tasks = self.lock();
        let turns = tasks.entry(job.task.clone()).or_default();
        turns.insert(job.turn, refusal);
        drop(tasks);
        self.more.notify_waiters();
    }

    fn remove(&self, job: &Job) {
        let mut tasks = self.lock();
        if let Some(turns) = tasks.get_mut(&job.task) {
            turns.remove(&job.turn);
            if turns.is_empty() {
                tasks.remove(&job.task);
            }
        }
    }

    /// What became of this turn, or of the newest before it in its task.
    fn find(&self, task: &str, turn: u64) -> Option<Refusal> {
        let tasks = self.lock();
        let (_, refusal) = tasks.get(task)?.range(..=turn).next_back()?;
        Some(*refusal)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<u64, Refusal>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turns {
    /// Comes when the store has refused the end of a turn, or of one before it in its task, for so long that nobody
    /// should wait for it; never otherwise.
    pub(crate) async fn unkept(&self, task: &str, turn: u64) -> Refusal {
        let unkept = &self.0.unkept;
        loop {
            // It hears of what is put there from here on, before it waits.
            let more = unkept.more.notified();
            match unkept.find(task, turn) {
                Some(refusal) => return refusal,
                None => more.await,
            }
        }
    }

    /// Of how many turns the end was refused.
    #[cfg(test)]
    pub(crate) fn unkept_turns(&self) -> usize {
        self.0.unkept.lock().values().map(BTreeMap::len).sum()
    }
}

/// Tries again what the store cannot do just now, for as long as it cannot: nothing else that could be said of the
/// turn would be true.
pub(super) struct Patience<'a> {
    unkept: &'a Unkept,
    job: &'a Job,
    pause: Duration,
    since: Instant,
    is_told: bool,
}

impl<'a> Patience<'a> {
    pub(super) fn new(unkept: &'a Unkept, job: &'a Job) -> Self {
        Self {
            unkept,
            job,
            pause: PAUSES[0],
            since: Instant::now(),
            is_told: false,
        }
    }

    /// What came of it; after a pause, `None` if it is to be tried again.
    pub(super) async fn judge(
        &mut self,
        tried: Result<(), EmitError>,
    ) -> Option<Result<(), EmitError>> {
        match tried {
            Err(EmitError::Store(error)) if error.is_passing() => {
                let Job { task, turn, .. } = self.job;
                if !error.is_told() {
                    tracing::warn!(task, turn, %error, "the end of a turn waits until the store takes it");
                }
                if !self.is_told && self.since.elapsed() >= BOUND {
                    self.is_told = true;
                    self.unkept.put(self.job, Refusal::Waits);
                }
                sleep(self.pause).await;
                self.pause = (self.pause * 2).min(PAUSES[1]);
                None
            }
            ended => Some(ended),
        }
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if self.is_told {
            self.unkept.remove(self.job);
        }
    }
}
