//! The one thread that writes.
//!
//! It takes what waits, makes one batch of it, applies it, has sled write it, fsyncs, and only then
//! answers. So each write is durable when it is acknowledged, and one fsync serves all that waited for
//! the last one. sled's own `flush` is no fsync on Linux, and its `flush_async` can hang.

use std::{collections::BTreeSet, fs::File, sync::Arc, thread::JoinHandle};

use tokio::sync::{mpsc, oneshot};

use super::{
    codec::Body,
    draft::{Draft, Prepared},
    error::sled_error,
    flight::Flight,
    heads::Heads,
    keys::{self, Key},
    reader::Reader,
};
use crate::store::{Head, StoreError, cache::Cache, feed::Feed};

/// How many writes may wait; who comes then waits for room.
const QUEUE: usize = 1024;
/// A batch takes no more writes when it has so many, or so many bytes: readers wait for it too.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

/// Whoever gets an answer gets those of the others with it, see [`Answers`].
type Reply<T> = oneshot::Sender<(Result<T, StoreError>, Answers)>;

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
        reply: Reply<Arc<Head>>,
    },
    Record {
        key: Key,
        value: Option<Vec<u8>>,
        reply: Reply<bool>,
    },
}

impl Committer {
    /// Starts the thread; `file` is the one that sled writes to.
    pub(super) fn start(reader: Reader, file: File, told: Told) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let mut writer = Writer {
            reader,
            file,
            told,
            waiting,
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
        self.send(|reply| Job::Append { prepared, reply }).await
    }

    /// Puts a small record, or removes it; says whether there was one.
    pub(super) async fn record(
        &self,
        key: Key,
        value: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        self.send(|reply| Job::Record { key, value, reply }).await
    }

    /// The thread answers every job that it takes, so the wait is as long as the disk is slow.
    async fn send<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        let closed = |_| StoreError::Closed;
        jobs.send(job(reply)).await.map_err(closed)?;
        let (result, others) = answer.await.map_err(|_| StoreError::Closed)?;
        drop(others);
        result
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

/// Who is told what the thread does.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) flight: Arc<Flight>,
    pub(super) heads: Arc<Heads>,
    pub(super) cache: Arc<Cache>,
    pub(super) feed: Arc<Feed>,
}

impl Told {
    /// The append is durable: those who will be told of it find all of it ready.
    fn prepare(&self, head: &Arc<Head>, prepared: Prepared) {
        if let Body::Here(json) = &prepared.body {
            self.cache.advance(head, prepared.append, json.len());
        }
        self.heads.put(head);
        self.feed.announce(head);
    }
}

/// What the thread owns.
struct Writer {
    reader: Reader,
    file: File,
    told: Told,
    waiting: mpsc::Receiver<Job>,
}

/// A job that stands in the draft or was refused. Both are told only when the batch is durable: a refusal
/// may speak of what is in the same batch.
enum Staged {
    Append(
        Result<Arc<Head>, StoreError>,
        Box<Prepared>,
        Reply<Arc<Head>>,
    ),
    Record(Result<bool, StoreError>, Reply<bool>),
}

impl Writer {
    fn run(&mut self) {
        while let Some(first) = self.waiting.blocking_recv() {
            let jobs = self.take(first);
            let (draft, staged, aboard) = self.stage(jobs);
            let batch = (!draft.is_empty()).then(|| draft.into_batch());
            let outcome = self.commit(batch, aboard);
            if let Err(error) = &outcome {
                tracing::error!("the store takes no more events: {error}");
            }
            let settle = |one: Staged| one.settle(&outcome, &self.told);
            Answers(staged.into_iter().map(settle).collect()).hand_over();
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

    fn stage(&self, jobs: Vec<Job>) -> (Draft<'_>, Vec<Staged>, BTreeSet<Key>) {
        let mut draft = Draft::new(&self.reader, &self.told.heads);
        let mut aboard = BTreeSet::new();
        let stage = |job| match job {
            Job::Append { prepared, reply } => {
                aboard.insert(keys::log(&prepared.append.task));
                Staged::Append(draft.append(&prepared), prepared, reply)
            }
            Job::Record { key, value, reply } => {
                aboard.insert(key.clone());
                Staged::Record(draft.record(key, value), reply)
            }
        };
        let staged = jobs.into_iter().map(stage).collect();
        (draft, staged, aboard)
    }

    /// Makes a batch durable. After a failure nobody knows what is on the disk, so nothing may follow.
    fn commit(&self, batch: Option<sled::Batch>, aboard: BTreeSet<Key>) -> Result<(), StoreError> {
        if self.told.flight.has_crashed() {
            return Err(StoreError::Closed);
        }
        let Some(batch) = batch else {
            return Ok(());
        };
        self.told.flight.start(aboard);
        let outcome = self.write(batch);
        match outcome {
            Ok(()) => self.told.flight.land(),
            Err(_) => self.told.flight.crash(),
        }
        outcome
    }

    fn write(&self, batch: sled::Batch) -> Result<(), StoreError> {
        let db = &self.reader.0;
        db.apply_batch(batch).map_err(sled_error("writing to"))?;
        db.flush().map_err(sled_error("flushing"))?;
        let failed = |error| StoreError::io("syncing the database", error);
        self.file.sync_data().map_err(failed)
    }
}

impl Drop for Writer {
    /// Should sled panic, those who wait for its batch must not wait for ever.
    fn drop(&mut self) {
        self.told.flight.crash();
    }
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { prepared, .. } => match &prepared.body {
                Body::Here(json) => json.len(),
                Body::File(hash) => hash.len(),
            },
            Self::Record { value, .. } => value.as_ref().map_or(0, Vec::len),
        }
    }
}

impl Staged {
    /// What is to be answered now that the batch is durable, or not.
    fn settle(self, outcome: &Result<(), StoreError>, told: &Told) -> Answer {
        match self {
            Self::Append(result, prepared, reply) => {
                let result = settle(result, outcome);
                if let Ok(head) = &result {
                    told.prepare(head, *prepared);
                }
                Answer::Append(result, reply, Arc::clone(&told.feed))
            }
            Self::Record(result, reply) => Answer::Record(settle(result, outcome), reply),
        }
    }
}

/// What one of those who wait is told.
#[derive(Debug)]
enum Answer {
    Append(Result<Arc<Head>, StoreError>, Reply<Arc<Head>>, Arc<Feed>),
    Record(Result<bool, StoreError>, Reply<bool>),
}

/// Answers that are given when this is dropped.
///
/// To wake a task of the runtime from this thread costs two switches between threads. So only one of
/// those who wait is woken from here; it is handed the answers of the others and gives them from within
/// the runtime. If it has gone, or goes before it looks, they are given where they are dropped.
#[derive(Debug)]
struct Answers(Vec<Answer>);

impl Answers {
    fn hand_over(mut self) {
        if let Some(one) = self.0.pop() {
            one.give(self);
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for answer in self.0.drain(..) {
            answer.give(Self(Vec::new()));
        }
    }
}

impl Answer {
    /// Whoever asked may have gone; the write stands all the same, and the others are told.
    fn give(self, others: Answers) {
        match self {
            Self::Append(result, reply, feed) => {
                if let Ok(head) = &result {
                    feed.seen(head);
                }
                let _ = reply.send((result, others));
            }
            Self::Record(result, reply) => {
                let _ = reply.send((result, others));
            }
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
        Err(StoreError::Full { doing }) => Err(StoreError::Full {
            doing: doing.clone(),
        }),
        Err(_) => Err(StoreError::Closed),
    }
}
