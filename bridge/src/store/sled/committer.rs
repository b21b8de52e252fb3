//! The one thread that writes.
//!
//! It takes what waits, makes room for it, makes one batch of it, appends that to the log with one fsync, has the index
//! and the heads follow, and only then answers. So each write is durable when it is acknowledged or shown, and one
//! fsync serves all that waited for the last one. It answers each of them itself: nobody's answer waits until another
//! has looked at theirs. Tasks that are cached, and those who watch them, are told by whoever gets the answer.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, oneshot};

use super::{
    draft::{Draft, Prepared},
    follow::Mender,
    index::Changes,
    keys::Key,
    log,
    reader::Reader,
};
use crate::store::{Append, Head, StoreError, cache::Cache, feed::Feed};

/// How many writes may wait; who comes then waits for room.
const QUEUE: usize = 1024;
/// A batch takes no more writes when it has so many, or so many bytes: readers wait for it too.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;
/// The bytes that a write has in the log besides what it brings, mostly.
const AROUND: usize = 2 << 10;
/// An index that could not be made anew is tried again after so long.
const PAUSE: Duration = Duration::from_secs(2);

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// The handle of the thread. Dropping it waits for the last batch.
#[derive(Debug)]
pub(super) struct Committer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Job {
    Append {
        prepared: Box<Prepared>,
        reply: Reply<Durable>,
    },
    Record {
        key: Key,
        value: Option<Vec<u8>>,
        reply: Reply<bool>,
    },
    /// Whether another job would be done.
    Look { reply: Reply<()> },
}

impl Committer {
    /// Starts the thread at the end of the log.
    pub(super) fn start(
        reader: Reader,
        log: log::Writer,
        told: Told,
        mender: Mender,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let mut writer = Writer {
            reader,
            log,
            told,
            waiting,
            has_failed: false,
            mender,
            mending: None,
            tried: None,
        };
        let thread = std::thread::Builder::new()
            .name("store-committer".into())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::io("starting the committer", error))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Commits an append; answers with the task's new head.
    pub(super) async fn append(&self, prepared: Prepared) -> Result<Arc<Head>, StoreError> {
        let prepared = Box::new(prepared);
        let durable = self.send(|reply| Job::Append { prepared, reply }).await?;
        Ok(Arc::clone(&durable.head))
    }

    /// Puts a small record, or removes it; says whether there was one.
    pub(super) async fn record(
        &self,
        key: Key,
        value: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        self.send(|reply| Job::Record { key, value, reply }).await
    }

    /// Whether something would be written now; if not, what can be done about it is begun.
    pub(super) async fn look(&self) -> Result<(), StoreError> {
        self.send(|reply| Job::Look { reply }).await
    }

    /// The thread answers every job that it takes, so the wait is as long as the disk is slow.
    async fn send<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        let closed = |_| StoreError::Closed;
        jobs.send(job(reply)).await.map_err(closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's committer has panicked");
        }
    }
}

/// Who is told of what is durable.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) cache: Arc<Cache>,
    pub(super) feed: Arc<Feed>,
}

/// An append that is durable. It is told of when this is dropped: by whoever has waited for it, so that the thread goes
/// on, or by the thread if they have left.
#[derive(Debug)]
struct Durable {
    head: Arc<Head>,
    /// There until it is told.
    append: Option<Append>,
    bytes: usize,
    told: Told,
}

impl Drop for Durable {
    fn drop(&mut self) {
        let Told { cache, feed } = &self.told;
        if let Some(append) = self.append.take() {
            cache.publish(feed, &self.head, append, self.bytes);
        }
    }
}

/// What the thread owns.
struct Writer {
    reader: Reader,
    log: log::Writer,
    told: Told,
    waiting: mpsc::Receiver<Job>,
    /// A batch was lost, or not: nobody knows, so none may follow.
    has_failed: bool,
    mender: Mender,
    mending: Option<JoinHandle<Result<(), StoreError>>>,
    /// When the index was last begun to be made anew.
    tried: Option<Instant>,
}

/// A job that stands in the draft or was refused. Both are told only when the batch is durable: a refusal
/// may speak of what is in the same batch.
enum Staged {
    Append(Result<Arc<Head>, StoreError>, Box<Prepared>, Reply<Durable>),
    Record(Result<bool, StoreError>, Reply<bool>),
    Look(Reply<()>),
}

impl Writer {
    fn run(&mut self) {
        while let Some(first) = self.waiting.blocking_recv() {
            let jobs = self.take(first);
            match self.prepare(&jobs) {
                Ok(()) => {
                    let (staged, changes) = self.stage(jobs);
                    let outcome = self.commit(changes);
                    staged
                        .into_iter()
                        .for_each(|one| one.settle(&outcome, &self.told));
                }
                Err(error) => jobs.into_iter().for_each(|job| job.refuse(&error)),
            }
        }
        if let Some(mending) = self.mending.take() {
            let _ = mending.join();
        }
    }

    /// What waits now, up to the size of a batch.
    fn take(&mut self, first: Job) -> Vec<Job> {
        let mut bytes = first.bytes();
        let mut jobs = vec![first];
        while jobs.len() < BATCH
            && bytes < BATCH_BYTES
            && let Ok(next) = self.waiting.try_recv()
        {
            bytes += next.bytes();
            jobs.push(next);
        }
        jobs
    }

    /// Sees to it that the jobs can be done, before anything of them is staged.
    fn prepare(&mut self, jobs: &[Job]) -> Result<(), StoreError> {
        if self.has_failed {
            return Err(StoreError::Closed);
        }
        let bytes: usize = jobs.iter().map(|job| job.bytes() + AROUND).sum();
        self.log.make_room(bytes as u64)?;
        self.mend()
    }

    /// Has an index that has failed made anew. Meanwhile nothing is written: what is in the log is all that it
    /// must have.
    fn mend(&mut self) -> Result<(), StoreError> {
        if let Some(mending) = self.mending.take_if(|mending| mending.is_finished()) {
            match mending.join() {
                Ok(Ok(())) => tracing::warn!("the index was made anew"),
                Ok(Err(error)) => tracing::error!("the index could not be made anew: {error}"),
                Err(_) => tracing::error!("the index could not be made anew: sled panicked"),
            }
        }
        if self.mending.is_some() {
            return Err(StoreError::Rebuilding);
        }
        if !self.reader.index.now().has_failed() {
            return Ok(());
        }
        if self.tried.is_none_or(|tried| tried.elapsed() > PAUSE) {
            self.tried = Some(Instant::now());
            self.mending = Some(self.mender.start(&self.reader)?);
        }
        Err(StoreError::Rebuilding)
    }

    fn stage(&mut self, jobs: Vec<Job>) -> (Vec<Staged>, Changes) {
        let (mut draft, log) = (Draft::new(&self.reader), &mut self.log);
        let stage = |job| match job {
            Job::Append { prepared, reply } => {
                Staged::Append(draft.append(&prepared, log), prepared, reply)
            }
            Job::Record { key, value, reply } => {
                Staged::Record(draft.record(key, value.as_deref(), log), reply)
            }
            Job::Look { reply } => Staged::Look(reply),
        };
        let staged = jobs.into_iter().map(stage).collect();
        (staged, draft.changes)
    }

    /// Makes a batch durable and shows it. If there was no room, nothing of it is there; after any other failure
    /// nobody knows what is on the disk, so nothing may follow.
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
        // What is durable and not in the index comes there when that is made anew.
        self.reader.apply(changes, end)
    }
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { prepared, .. } => prepared.json.len(),
            Self::Record { value, .. } => value.as_ref().map_or(0, Vec::len),
            Self::Look { .. } => 0,
        }
    }

    /// Whoever asked may have gone.
    fn refuse(self, error: &StoreError) {
        match self {
            Self::Append { reply, .. } => drop(reply.send(Err(error.replicate()))),
            Self::Record { reply, .. } => drop(reply.send(Err(error.replicate()))),
            Self::Look { reply } => drop(reply.send(Err(error.replicate()))),
        }
    }
}

impl Staged {
    /// Answers now that the batch is durable, or not. Whoever asked may have gone; the write stands all the same.
    fn settle(self, outcome: &Result<(), StoreError>, told: &Told) {
        match self {
            Self::Append(result, prepared, reply) => {
                let durable = |head| Durable {
                    head,
                    bytes: prepared.json.len() + prepared.weight,
                    append: Some(prepared.append),
                    told: told.clone(),
                };
                drop(reply.send(settle(result, outcome).map(durable)));
            }
            Self::Record(result, reply) => drop(reply.send(settle(result, outcome))),
            Self::Look(reply) => drop(reply.send(settle(Ok(()), outcome))),
        }
    }
}

/// A refusal stays one; what was staged is as good as its batch.
fn settle<T>(
    result: Result<T, StoreError>,
    outcome: &Result<(), StoreError>,
) -> Result<T, StoreError> {
    let staged = result?;
    match outcome {
        Ok(()) => Ok(staged),
        Err(error) => Err(error.replicate()),
    }
}
