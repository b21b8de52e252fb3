//! A disk in memory, and a writer of jobs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shuttle::sync::Arc;

use super::{
    channels,
    commit_queue::{Answer, Limits, Reply, Writer},
};
use crate::StoreError;

/// The number of the job that does not fit on the disk, with its whole batch.
pub(super) const REFUSED_JOB: usize = 2;

/// Deliberate mistakes of the writer or of the owner of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// The writer acknowledges a batch before its sync.
    AnswersEarly,
    /// The writer neither writes nor answers one job of a batch.
    DropsJob,
    /// The writer does not answer one job of a batch.
    DropsAnswer,
    /// The writer acknowledges a batch that did not fit.
    HidesFailure,
    /// The owner does not wait until the thread has ended.
    DoesNotWait,
}

/// The disk. Its lock is not one of shuttle's, so that it can be read after a failed run.
#[derive(Default)]
pub(super) struct Disk(Mutex<Written>);

#[derive(Debug, Default)]
pub(super) struct Written {
    jobs: Vec<usize>,
    /// The number of jobs that are synced.
    synced: usize,
    /// The published jobs, and those that were published before they were durable.
    pub(super) published: Vec<usize>,
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
    /// Returns the durable jobs, sorted by number.
    pub(super) fn durable(&self) -> Vec<usize> {
        let mut durable = self.jobs[..self.synced].to_vec();
        durable.sort_unstable();
        durable
    }
}

/// The answer to a caller. Dropping it publishes the job, as with appends. The thread drops it if the caller has left.
pub(super) struct Durable {
    pub(super) job: usize,
    disk: Arc<Disk>,
}

impl Drop for Durable {
    fn drop(&mut self) {
        let mut written = self.disk.lock();
        let is_early = !written.durable().contains(&self.job);
        written.early.extend(is_early.then_some(self.job));
        written.published.push(self.job);
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
        if self.mistake == Some(Mistake::DropsJob) && jobs.len() > 1 {
            jobs.pop();
        }
        let batch = jobs.iter().map(|job| job.number).collect();
        let answer = |Job { number, reply }| {
            let disk = Arc::clone(&self.disk);
            reply.answer(Ok(number), |job| Durable { job, disk })
        };
        let mut answers: Vec<Answer> = jobs.into_iter().map(answer).collect();
        if self.mistake == Some(Mistake::DropsAnswer) && answers.len() > 1 {
            // The caller waits for ever.
            std::mem::forget(answers.pop());
        }
        (batch, answers)
    }

    fn commit(&mut self, batch: Vec<usize>) -> Result<(), StoreError> {
        if self.mistake == Some(Mistake::AnswersEarly) {
            self.disk.sync();
        }
        let is_refused = batch.contains(&REFUSED_JOB);
        let before = self.disk.lock().jobs.len();
        self.disk.lock().jobs.extend(batch);
        channels::step();
        if is_refused {
            self.disk.lock().jobs.truncate(before);
            return match self.mistake {
                Some(Mistake::HidesFailure) => Ok(()),
                _ => Err(StoreError::Full { doing: "writing".into() }),
            };
        }
        if self.mistake != Some(Mistake::AnswersEarly) {
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
