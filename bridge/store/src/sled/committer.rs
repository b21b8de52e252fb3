//! The one thread that writes.
//!
//! It makes room for the writes that it takes from its queue, makes one batch of them, appends the batch to the log with
//! one fsync, and updates the index, before the queue answers. Each writer that has its answer then updates the cache and
//! notifies the watchers of the task.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    commit_queue::{Answer, CommitQueue, Limits, Reply, Writer},
    copies::Copies,
    draft::{Draft, Prepared},
    follow::Rebuilder,
    index::Changes,
    keys::Key,
    log::{self, LogOffset},
    reader::Reader,
};
use crate::{Append, Deletion, Head, StoreError, cache::Cache, caller::Caller, feed::Feed};

/// Batches have limits because readers wait for them too.
const LIMITS: Limits = Limits {
    queue: 1024,
    jobs: 1024,
    bytes: 4 << 20,
};
/// The usual overhead of a write in the log, in bytes.
const AROUND: usize = 2 << 10;
/// The time after which an index that could not be made anew is tried again.
const PAUSE: Duration = Duration::from_secs(2);

/// The handle of the thread. Dropping it waits for the last batch.
#[derive(Debug)]
pub(super) struct Committer(CommitQueue<Job>);

/// A write that waits.
struct Job {
    size: Size,
    /// Adds it to the batch that is being prepared, or answers with the reason why there is none.
    stage: Stage,
}

/// The bytes of a job.
#[derive(Clone, Copy, Debug)]
enum Size {
    Adds(usize),
    /// It frees disk space in the end, so that it may use some of the reserve.
    Frees(usize),
}

impl Size {
    fn bytes(self) -> usize {
        match self {
            Self::Adds(bytes) | Self::Frees(bytes) => bytes,
        }
    }
}

/// Adds a job to a batch, and returns how its caller is answered.
type Stage = Box<dyn FnOnce(Result<Batch<'_, '_>, &StoreError>) -> Answer + Send>;

type Batch<'b, 'r> = (&'b mut Draft<'r>, &'b mut log::Writer);

impl Committer {
    /// Starts the thread at the end of the log.
    pub(super) fn start(
        reader: Reader,
        log: log::Writer,
        rebuilder: Rebuilder,
    ) -> Result<Self, StoreError> {
        let writer = LogWriter {
            reader,
            log,
            has_failed: false,
            rebuilder,
            rebuilding: None,
            tried: None,
        };
        let queue = CommitQueue::start(writer, LIMITS);
        let failed = |error| StoreError::io("starting the committer", error);
        Ok(Self(queue.map_err(failed)?))
    }

    /// Commits an append and publishes it. Returns the task's new head.
    pub(super) async fn append(
        &self,
        prepared: Prepared,
        publisher: Publisher,
    ) -> Result<Arc<Head>, StoreError> {
        let bytes = prepared.json.len();
        let stage = move |(draft, log): Batch<'_, '_>| {
            let head = draft.append(&prepared, log)?;
            Ok((head, prepared))
        };
        let show = move |(head, prepared): (_, Prepared)| Durable {
            head,
            append: Some(prepared.append),
            publisher,
        };
        let durable = self.send(Size::Adds(bytes), stage, show).await?;
        Ok(Arc::clone(&durable.head))
    }

    /// Deletes a task; `forget` is called when the deletion is durable.
    pub(super) async fn delete(
        &self,
        caller: Caller,
        task: String,
        deletion: Deletion,
        forget: impl FnOnce() + Send + 'static,
    ) -> Result<(), StoreError> {
        let stage = move |(draft, log): Batch<'_, '_>| draft.delete(&caller, &task, deletion, log);
        self.send(Size::Frees(0), stage, |()| forget()).await
    }

    /// Writes appends of a task anew. Returns the place of the last one.
    pub(super) async fn copy(&self, copies: Arc<Copies>) -> Result<Option<LogOffset>, StoreError> {
        let bytes = copies.records.iter().map(Vec::len).sum();
        let stage = move |(draft, log): Batch<'_, '_>| draft.copy(&copies, log);
        self.send(Size::Frees(bytes), stage, |place| place).await
    }

    /// Writes a small record anew if it is still at this place.
    pub(super) async fn renew(
        &self,
        key: Key,
        offset: LogOffset,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        let stage = move |(draft, log): Batch<'_, '_>| draft.renew(key, offset, &value, log);
        self.send(Size::Frees(0), stage, |()| ()).await
    }

    /// Puts or removes a small record. Returns whether there was one.
    pub(super) async fn record(
        &self,
        key: Key,
        value: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let bytes = value.as_ref().map_or(0, Vec::len);
        let stage = move |(draft, log): Batch<'_, '_>| draft.record(key, value.as_deref(), log);
        self.send(Size::Adds(bytes), stage, |was_there| was_there)
            .await
    }

    /// Returns whether the store can write now; if not, begins to repair the cause where that is possible.
    pub(super) async fn look(&self) -> Result<(), StoreError> {
        self.send(Size::Adds(0), |_| Ok(()), |()| ()).await
    }

    /// Hands a write to the thread, which shows it when it is durable.
    fn send<S: Send + 'static, T: Send + 'static>(
        &self,
        size: Size,
        stage: impl FnOnce(Batch<'_, '_>) -> Result<S, StoreError> + Send + 'static,
        show: impl FnOnce(S) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> {
        self.0.send(move |reply: Reply<T>| {
            let stage = Box::new(move |batch: Result<Batch<'_, '_>, &StoreError>| {
                reply.answer(batch.map_err(StoreError::replicate).and_then(stage), show)
            });
            Job { size, stage }
        })
    }
}

/// Publishes durable appends.
#[derive(Clone, Debug)]
pub(super) struct Publisher {
    pub(super) cache: Arc<Cache>,
    pub(super) feed: Arc<Feed>,
}

/// A durable append. Dropping this publishes it: the writer does that, so that the thread can go on, or the thread if the
/// writer has left.
struct Durable {
    head: Arc<Head>,
    /// `None` once it is published.
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
    /// Whether it is unknown if a batch was lost, so that none may follow.
    has_failed: bool,
    rebuilder: Rebuilder,
    rebuilding: Option<JoinHandle<Result<(), StoreError>>>,
    /// The last time at which the index began to be made anew.
    tried: Option<Instant>,
}

impl Writer for LogWriter {
    type Job = Job;
    type Batch = Changes;

    fn bytes(job: &Job) -> usize {
        job.size.bytes()
    }

    fn stage(&mut self, jobs: Vec<Job>) -> (Changes, Vec<Answer>) {
        let prepared = self.prepare(&jobs);
        let mut draft = Draft::new(&self.reader);
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            let batch = prepared.as_ref().map(|()| (&mut draft, &mut self.log));
            answers.push((job.stage)(batch));
        }
        (draft.changes, answers)
    }

    /// Makes a batch durable and shows it. If there was no room, nothing of it is on the disk; after any other failure it is
    /// unknown what the disk has, so that no batch may follow.
    fn commit(&mut self, changes: Changes) -> Result<(), StoreError> {
        if self.log.is_empty() {
            return Ok(());
        }
        let end = match self.log.commit() {
            Ok(end) => end,
            Err(error) => {
                self.has_failed = !matches!(error, StoreError::Full { .. });
                if self.has_failed {
                    tracing::error!("the store takes no more events: {error}");
                }
                return Err(error);
            }
        };
        // Durable records that are missing in the index are added when it is made anew.
        self.reader.index().apply(changes, end)
    }
}

impl LogWriter {
    /// Prepares the disk and the index for the jobs, before any of them is added to the batch.
    fn prepare(&mut self, jobs: &[Job]) -> Result<(), StoreError> {
        if self.has_failed {
            return Err(StoreError::Closed);
        }
        let bytes: usize = jobs.iter().map(|job| job.size.bytes() + AROUND).sum();
        let is_freeing = jobs.iter().all(|job| matches!(job.size, Size::Frees(_)));
        self.log.make_room(bytes as u64, is_freeing)?;
        self.rebuild()
    }

    /// Makes an index anew that has failed. Nothing is written meanwhile, so that the index needs no more than what the log
    /// has now.
    fn rebuild(&mut self) -> Result<(), StoreError> {
        if let Some(rebuilding) = self
            .rebuilding
            .take_if(|rebuilding| rebuilding.is_finished())
        {
            match rebuilding.join() {
                Ok(Ok(())) => tracing::warn!("the index was made anew"),
                Ok(Err(error)) => tracing::error!("the index could not be made anew: {error}"),
                Err(_) => tracing::error!("the index could not be made anew: sled panicked"),
            }
        }
        if self.rebuilding.is_some() {
            return Err(StoreError::Rebuilding);
        }
        if !self.reader.index.now().has_failed() {
            return Ok(());
        }
        if self.tried.is_none_or(|tried| tried.elapsed() > PAUSE) {
            self.tried = Some(Instant::now());
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
