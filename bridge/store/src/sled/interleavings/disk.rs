//! A disk in memory, and the writer that writes jobs to it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shuttle::sync::Arc;

use super::{
    channels,
    commit_queue::{Answer, Limits, Reply, Writer},
};
use crate::StoreError;

/// A batch with this job finds no room.
pub(super) const REFUSED: usize = 2;

/// Deliberate mistakes of those who use the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// A batch is acknowledged before its sync.
    SyncsLater,
    /// Of a batch of several jobs one is neither written nor answered.
    LosesAJob,
    /// Its caller is not answered, though it is written.
    LosesAnAnswer,
    /// A batch that found no room is acknowledged.
    HidesFailure,
    /// Nobody waits until the thread has ended.
    Leaves,
}

/// The disk. It has no lock of shuttle's, so that it can be looked at when a run has failed.
#[derive(Default)]
pub(super) struct Disk(Mutex<Written>);

#[derive(Debug, Default)]
pub(super) struct Written {
    jobs: Vec<usize>,
    /// So many of them are synced.
    synced: usize,
    /// Those that were shown, and those of them that were not durable then.
    pub(super) shown: Vec<usize>,
    pub(super) early: Vec<usize>,
}

impl Disk {
    pub(super) fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) {
        let mut written = self.lock();
        written.synced = written.jobs.len();
    }
}

impl Written {
    /// The jobs that are durable, in order of their numbers.
    pub(super) fn durable(&self) -> Vec<usize> {
        let mut durable = self.jobs[..self.synced].to_vec();
        durable.sort_unstable();
        durable
    }
}

/// The answer to a caller. Dropping it shows the job, as with appends: the thread does that if the caller has left.
pub(super) struct Durable {
    pub(super) job: usize,
    disk: Arc<Disk>,
}

impl Drop for Durable {
    fn drop(&mut self) {
        let mut written = self.disk.lock();
        let is_early = !written.durable().contains(&self.job);
        written.early.extend(is_early.then_some(self.job));
        written.shown.push(self.job);
    }
}

pub(super) struct Job {
    pub(super) number: usize,
    pub(super) reply: Reply<Durable>,
}

/// Writes jobs to the disk.
pub(super) struct DiskWriter {
    pub(super) disk: Arc<Disk>,
    pub(super) limits: Limits,
    pub(super) mistake: Option<Mistake>,
}

impl Writer for DiskWriter {
    type Job = Job;
    type Batch = Vec<usize>;

    fn bytes(_: &Job) -> usize {
        1
    }

    fn stage(&mut self, mut jobs: Vec<Job>) -> (Vec<usize>, Vec<Answer>) {
        assert!(jobs.len() <= self.limits.jobs.min(self.limits.bytes));
        if self.mistake == Some(Mistake::LosesAJob) && jobs.len() > 1 {
            jobs.pop();
        }
        let batch = jobs.iter().map(|job| job.number).collect();
        let answer = |Job { number, reply }| {
            let disk = Arc::clone(&self.disk);
            reply.answer(Ok(number), |job| Durable { job, disk })
        };
        let mut answers: Vec<Answer> = jobs.into_iter().map(answer).collect();
        if self.mistake == Some(Mistake::LosesAnAnswer) && answers.len() > 1 {
            // Its caller waits for ever.
            std::mem::forget(answers.pop());
        }
        (batch, answers)
    }

    fn commit(&mut self, batch: Vec<usize>) -> Result<(), StoreError> {
        if self.mistake == Some(Mistake::SyncsLater) {
            self.disk.sync();
        }
        let is_refused = batch.contains(&REFUSED);
        let before = self.disk.lock().jobs.len();
        self.disk.lock().jobs.extend(batch);
        channels::step();
        if is_refused {
            self.disk.lock().jobs.truncate(before);
            return match self.mistake {
                Some(Mistake::HidesFailure) => Ok(()),
                _ => Err(StoreError::Full {
                    doing: "writing".into(),
                }),
            };
        }
        if self.mistake != Some(Mistake::SyncsLater) {
            self.disk.sync();
        }
        Ok(())
    }
}

impl Drop for DiskWriter {
    fn drop(&mut self) {
        self.disk.sync();
    }
}
