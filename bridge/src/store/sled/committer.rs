//! The one thread that writes.
//!
//! It takes what waits, makes one batch of it, appends that to the log with one fsync, shows it to readers,
//! and only then answers. So each write is durable when it is acknowledged or shown, and one fsync serves
//! all that waited for the last one.

use std::{sync::Arc, thread::JoinHandle};

use tokio::sync::{mpsc, oneshot};

use super::{
    answers::{Answer, Answers, Reply},
    draft::{Draft, Prepared},
    heads::Tip,
    index::Changes,
    keys::Key,
    log,
    reader::Reader,
};
use crate::store::{Head, StoreError, cache::Cache, feed::Feed};

/// How many writes may wait; who comes then waits for room.
const QUEUE: usize = 1024;
/// A batch takes no more writes when it has so many, or so many bytes: readers wait for it too.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

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
    /// Starts the thread at the end of the log.
    pub(super) fn start(reader: Reader, log: log::Writer, told: Told) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let mut writer = Writer {
            reader,
            log,
            told,
            waiting,
            has_failed: false,
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
    pub(super) cache: Arc<Cache>,
    pub(super) feed: Arc<Feed>,
}

/// What the thread owns.
struct Writer {
    reader: Reader,
    log: log::Writer,
    told: Told,
    waiting: mpsc::Receiver<Job>,
    /// A batch was lost, or not: nobody knows, so none may follow.
    has_failed: bool,
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
            let (staged, changes) = self.stage(jobs);
            let outcome = self.commit(changes);
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

    fn stage(&mut self, jobs: Vec<Job>) -> (Vec<Staged>, Changes) {
        let (mut draft, log) = (Draft::new(&self.reader), &mut self.log);
        let stage = |job| match job {
            Job::Append { prepared, reply } => {
                Staged::Append(draft.append(&prepared, log), prepared, reply)
            }
            Job::Record { key, value, reply } => {
                Staged::Record(draft.record(key, value.as_deref(), log), reply)
            }
        };
        let staged = jobs.into_iter().map(stage).collect();
        (staged, draft.changes)
    }

    /// Makes a batch durable and shows it. After a failure nobody knows what is on the disk, so nothing
    /// may follow.
    fn commit(&mut self, changes: Changes) -> Result<(), StoreError> {
        if self.has_failed {
            return Err(StoreError::Closed);
        }
        if self.log.is_empty() {
            return Ok(());
        }
        let tips: Vec<Tip> = changes.tips().cloned().collect();
        let written = self.log.commit();
        let outcome = written.and_then(|end| self.reader.index.apply(changes, end));
        match &outcome {
            Ok(()) => tips.into_iter().for_each(|tip| self.reader.heads.put(tip)),
            Err(error) => {
                self.has_failed = true;
                tracing::error!("the store takes no more events: {error}");
            }
        }
        outcome
    }
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { prepared, .. } => prepared.json.len(),
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
                    let bytes = prepared.json.len();
                    told.cache.advance(head, prepared.append, bytes);
                    told.feed.announce(head);
                }
                Answer::Append(result, reply, Arc::clone(&told.feed))
            }
            Self::Record(result, reply) => Answer::Record(settle(result, outcome), reply),
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
