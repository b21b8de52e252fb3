//! Turns whose end the store does not take: who waits for one of them is told, and does not wait for room on a disk.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{Turns, queue::Job};
use crate::executor::EmitError;

/// How long is waited before a turn's end is logged again that the store could not take, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];

/// How long the store may refuse a turn's end before those who wait for it are told.
const BOUND: Duration = Duration::from_secs(1);

/// How often they look whether there is something to be told.
const LOOK: Duration = Duration::from_secs(1);

/// Why a turn's end is not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There was no room for it, and it is tried again until there is.
    Waits,
    /// It never will be by this process. A restart finds the turn open.
    Lost,
}

/// The turns whose end was refused, an entry each: as many as run, and those that are lost.
#[derive(Debug, Default)]
pub(super) struct Unkept(Mutex<BTreeMap<(String, u64), Refusal>>);

impl Unkept {
    pub(super) fn put(&self, job: &Job, refusal: Refusal) {
        self.lock().insert((job.task.clone(), job.turn), refusal);
    }

    fn remove(&self, job: &Job) {
        self.lock().remove(&(job.task.clone(), job.turn));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, u64), Refusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turns {
    /// Comes when the store has refused the end of a turn, or of one before it in its task, for so long that nobody
    /// should wait for it; never otherwise.
    pub(crate) async fn unkept(&self, task: &str, turn: u64) -> Refusal {
        let own = (task.to_owned(), 0)..=(task.to_owned(), turn);
        loop {
            let found = self
                .0
                .unkept
                .lock()
                .range(own.clone())
                .next_back()
                .map(|(_, refusal)| *refusal);
            match found {
                Some(refusal) => return refusal,
                None => sleep(LOOK).await,
            }
        }
    }

    /// Of how many turns the end was refused.
    #[cfg(test)]
    pub(crate) fn unkept_turns(&self) -> usize {
        self.0.unkept.lock().len()
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
