//! The thread that writes the log.
//!
//! For each batch of writes from its queue, it reserves disk space, appends the batch to the log with one fsync, and
//! updates the index. Then the queue answers. Each writer that gets its answer updates the cache and notifies the watchers
//! of the task.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    catch_up::Rebuilder,
    commit_queue::{Answer, CommitQueue, Limits, Reply, Writer},
    draft::{Draft, PreparedAppend},
    index::Changes,
    keys::Key,
    latest_append::TaskCopy,
    log::{self, LogOffset},
    reader::Reader,
};
use crate::{Append, Deletion, Head, Result, StoreError, cache::Cache, caller::Caller, feed::Feed};

/// The limits of the queue and of batches. Batches are limited because readers wait for them too.
const LIMITS: Limits = Limits { queue: 1024, jobs: 1024, bytes: 4 << 20 };
/// The usual overhead of a record in the log, in bytes.
const OVERHEAD: usize = 2 << 10;
/// The pause between two attempts to rebuild the index.
const REBUILD_PAUSE: Duration = Duration::from_secs(2);

/// The handle of the thread. Dropping it waits for the last batch.
#[derive(Debug)]
pub(super) struct Committer(CommitQueue<Job>);

/// A queued write.
struct Job {
    /// The size in bytes.
    bytes: usize,
    /// Whether the job finally frees disk space, so that it may use a part of the reserve.
    is_freeing: bool,
    /// Adds the write to the batch, or answers with the reason for which there is no batch.
    stage: Stage,
}

/// Adds a job to a batch, and returns the answer for its caller.
type Stage = Box<dyn FnOnce(Result<Batch<'_, '_>, &StoreError>) -> Answer + Send>;

type Batch<'b, 'r> = (&'b mut Draft<'r>, &'b mut log::Writer);

impl Committer {
    /// Starts the thread at the end of the log.
    pub(super) fn start(reader: Reader, log: log::Writer, rebuilder: Rebuilder) -> Result<Self> {
        let writer = LogWriter { reader, log, rebuilder, rebuilding: None, last_rebuild: None };
        let queue = CommitQueue::start(writer, LIMITS);
        let failed = |error| StoreError::io("starting the committer", error);
        Ok(Self(queue.map_err(failed)?))
    }

    /// Commits an append and publishes it. Returns the new head of the task.
    pub(super) async fn append(
        &self,
        prepared: PreparedAppend,
        publisher: Publisher,
    ) -> Result<Arc<Head>> {
        let bytes = prepared.json.len();
        let stage = move |(draft, log): Batch<'_, '_>| {
            let head = draft.append(&prepared, log)?;
            Ok((head, prepared))
        };
        let publish = move |(head, prepared): (_, PreparedAppend)| Durable {
            head,
            append: Some(prepared.append),
            publisher,
        };
        let durable = self.send(bytes, false, stage, publish).await?;
        Ok(Arc::clone(&durable.head))
    }

    /// Deletes a task. `forget` is called when the deletion is durable.
    pub(super) async fn delete(
        &self,
        caller: Caller,
        task: String,
        deletion: Deletion,
        forget: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let stage = move |(draft, log): Batch<'_, '_>| draft.delete(&caller, &task, deletion, log);
        self.send(0, true, stage, |()| forget()).await
    }

    /// Writes copies of a task's appends. Returns the offset of the last one.
    pub(super) async fn copy(&self, copy: Arc<TaskCopy>) -> Result<Option<LogOffset>> {
        let bytes = copy.records.iter().map(Vec::len).sum();
        let stage = move |(draft, log): Batch<'_, '_>| draft.copy(&copy, log);
        self.send(bytes, true, stage, |place| place).await
    }

    /// Writes a small record again if it is still at this offset.
    pub(super) async fn rewrite_record(
        &self,
        key: Key,
        offset: LogOffset,
        value: Vec<u8>,
    ) -> Result<()> {
        let bytes = value.len();
        let stage =
            move |(draft, log): Batch<'_, '_>| draft.rewrite_record(key, offset, &value, log);
        self.send(bytes, true, stage, |()| ()).await
    }

    /// Stores or removes a small record. Returns whether it existed.
    pub(super) async fn record(&self, key: Key, value: Option<Vec<u8>>) -> Result<bool> {
        let bytes = value.as_ref().map_or(0, Vec::len);
        let stage = move |(draft, log): Batch<'_, '_>| draft.record(key, value.as_deref(), log);
        self.send(bytes, false, stage, |existed| existed).await
    }

    /// Checks that the store can write. If the index has failed, this begins to rebuild it.
    pub(super) async fn check_writable(&self) -> Result<()> {
        self.send(0, false, |_| Ok(()), |()| ()).await
    }

    /// Queues a write. `publish` is called when it is durable.
    fn send<S: Send + 'static, T: Send + 'static>(
        &self,
        bytes: usize,
        is_freeing: bool,
        stage: impl FnOnce(Batch<'_, '_>) -> Result<S> + Send + 'static,
        publish: impl FnOnce(S) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T>> {
        self.0.send(move |reply: Reply<T>| {
            let stage = Box::new(move |batch: Result<Batch<'_, '_>, &StoreError>| {
                let staged = batch.map_err(StoreError::replicate).and_then(stage);
                reply.answer(staged, publish)
            });
            Job { bytes, is_freeing, stage }
        })
    }
}

/// Publishes durable appends.
#[derive(Clone, Debug)]
pub(super) struct Publisher {
    pub(super) cache: Arc<Cache>,
    pub(super) feed: Arc<Feed>,
}

/// A durable append. Dropping it publishes the append. Usually the caller drops it, so that the thread can continue; the
/// thread drops it if the caller has left.
struct Durable {
    head: Arc<Head>,
    /// The append; `None` once it is published.
    append: Option<Append>,
    publisher: Publisher,
}

impl Drop for Durable {
    fn drop(&mut self) {
        let Publisher { cache, feed } = &self.publisher;
        if let Some(append) = self.append.take() {
            cache.publish(feed, &self.head, append);
        }
    }
}

/// The state of the thread.
struct LogWriter {
    reader: Reader,
    log: log::Writer,
    rebuilder: Rebuilder,
    rebuilding: Option<JoinHandle<Result<()>>>,
    /// The time of the last attempt to rebuild the index.
    last_rebuild: Option<Instant>,
}

impl Writer for LogWriter {
    type Job = Job;
    type Batch = Changes;

    fn bytes(job: &Job) -> usize {
        job.bytes
    }

    fn stage(&mut self, jobs: Vec<Job>) -> (Changes, Vec<Answer>) {
        let prepared = self.prepare(&jobs, jobs.iter().all(|job| job.is_freeing));
        // What frees a full disk is not refused because of what came beside it.
        let is_full = matches!(prepared, Err(StoreError::Full { .. }));
        let freeing = is_full.then(|| self.prepare(&jobs, true));
        let mut draft = Draft::new(&self.reader);
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            let prepared = freeing.as_ref().filter(|_| job.is_freeing).unwrap_or(&prepared);
            let batch = prepared.as_ref().map(|()| (&mut draft, &mut self.log));
            answers.push((job.stage)(batch));
        }
        (draft.changes, answers)
    }

    /// Makes a batch durable and visible. If the disk is full, nothing of the batch is on the disk. After any other failure
    /// the content of the disk is unknown, so no batch may follow.
    fn commit(&mut self, changes: Changes) -> Result<()> {
        if self.log.is_empty() {
            return Ok(());
        }
        let end = self.log.commit()?;
        // The batch is durable, also if the index fails meanwhile: then it is rebuilt before the next batch.
        self.reader.index().apply(changes, end);
        Ok(())
    }
}

impl LogWriter {
    /// Reserves disk space for all of the jobs, or for those that free some, and checks the index, before any of them is added
    /// to the batch.
    fn prepare(&mut self, jobs: &[Job], is_freeing: bool) -> Result<()> {
        let jobs = jobs.iter().filter(|job| job.is_freeing || !is_freeing);
        let bytes: usize = jobs.map(|job| job.bytes + OVERHEAD).sum();
        self.log.make_room(bytes as u64, is_freeing)?;
        self.rebuild()
    }

    /// Rebuilds the index if it has failed. No batch is written meanwhile, so that the log does not grow.
    fn rebuild(&mut self) -> Result<()> {
        if let Some(rebuilding) = self.rebuilding.take_if(|rebuilding| rebuilding.is_finished()) {
            match rebuilding.join() {
                Ok(Ok(())) => tracing::warn!("the index was rebuilt"),
                Ok(Err(error)) => tracing::error!("the index could not be rebuilt: {error}"),
                Err(_) => tracing::error!("the index could not be rebuilt: sled panicked"),
            }
        }
        if self.rebuilding.is_some() {
            return Err(StoreError::Rebuilding);
        }
        if !self.reader.index.get().has_failed() {
            return Ok(());
        }
        let is_paused = |last: Instant| last.elapsed() <= REBUILD_PAUSE;
        if !self.last_rebuild.is_some_and(is_paused) {
            self.last_rebuild = Some(Instant::now());
            self.rebuilding = Some(self.rebuilder.start(&self.reader)?);
        }
        Err(StoreError::Rebuilding)
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        if let Some(rebuilding) = self.rebuilding.take() {
            let _ = rebuilding.join();
        }
    }
}
