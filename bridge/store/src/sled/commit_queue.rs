//! Queues jobs for the thread that commits them.
//!
//! The thread takes the waiting jobs, commits them as one batch, and only then answers. So each job is durable when it is
//! acknowledged, and one fsync serves all jobs that waited for the previous one. The thread answers each caller itself, so
//! no answer waits for another caller. It answers every job that it takes, and takes all queued jobs before it ends.

use std::{fmt, io};

use super::{
    Result, StoreError,
    channels::{mpsc, oneshot},
    thread::{Builder, JoinHandle},
};

/// The limits of the queue and of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The largest number of queued jobs. Further callers wait.
    pub(super) queue: usize,
    /// The number of jobs, and the bytes, from which a batch takes no further job.
    pub(super) jobs: usize,
    pub(super) bytes: usize,
}

/// Commits batches on the thread of the queue.
pub(super) trait Writer: Send + 'static {
    type Job: Send;
    /// The content of a batch.
    type Batch;

    fn bytes(job: &Self::Job) -> usize;
    /// Prepares a batch of the jobs. Returns it with the answer for each caller.
    fn stage(&mut self, jobs: Vec<Self::Job>) -> (Self::Batch, Vec<Answer>);
    fn commit(&mut self, batch: Self::Batch) -> Result<()>;
}

/// Answers a caller with the outcome of the batch. A refusal also waits for the outcome, since the reason may be another
/// job of the same batch.
pub(super) type Answer = Box<dyn FnOnce(&Result<()>) + Send>;

/// The channel to the caller of a job.
pub(super) struct Reply<T>(oneshot::Sender<Result<T>>);

impl<T: Send + 'static> Reply<T> {
    /// Returns the answer to a job that was staged or refused. `publish` computes the result once the batch is durable.
    pub(super) fn answer<S: Send + 'static>(
        self,
        staged: Result<S>,
        publish: impl FnOnce(S) -> T + Send + 'static,
    ) -> Answer {
        Box::new(move |outcome| {
            let settled = staged.and_then(|staged| match outcome {
                Ok(()) => Ok(publish(staged)),
                Err(error) => Err(error.replicate()),
            });
            // The caller may have left; the job is still valid.
            drop(self.0.send(settled));
        })
    }
}

/// The handle of the thread. Dropping it waits until all jobs in the queue are committed.
pub(super) struct CommitQueue<J> {
    jobs: Option<mpsc::Sender<J>>,
    thread: Option<JoinHandle<()>>,
}

impl<J: Send + 'static> CommitQueue<J> {
    /// Starts the thread.
    pub(super) fn start<W: Writer<Job = J>>(mut writer: W, limits: Limits) -> io::Result<Self> {
        let (jobs, mut waiting) = mpsc::channel(limits.queue);
        let run = move || {
            while let Some(first) = waiting.blocking_recv() {
                let (batch, answers) = writer.stage(take::<W>(first, &mut waiting, limits));
                let outcome = writer.commit(batch);
                answers.into_iter().for_each(|answer| answer(&outcome));
            }
        };
        let thread = Builder::new().name("store-committer".into()).spawn(run)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues a job, and waits for the answer. It waits for room in the queue and for the disk, without a time limit.
    ///
    /// Errors: those of the writer; `Closed` if the thread has ended.
    pub(super) async fn send<T>(&self, job: impl FnOnce(Reply<T>) -> J) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        let sent = jobs.send(job(Reply(reply))).await;
        sent.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

/// Takes the queued jobs, up to the size of a batch.
fn take<W: Writer>(
    first: W::Job,
    waiting: &mut mpsc::Receiver<W::Job>,
    limits: Limits,
) -> Vec<W::Job> {
    let mut bytes = W::bytes(&first);
    let mut jobs = vec![first];
    while jobs.len() < limits.jobs
        && bytes < limits.bytes
        && let Ok(next) = waiting.try_recv()
    {
        bytes += W::bytes(&next);
        jobs.push(next);
    }
    jobs
}

impl<J> Drop for CommitQueue<J> {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's committer has panicked");
        }
    }
}

impl<J> fmt::Debug for CommitQueue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitQueue").finish_non_exhaustive()
    }
}
