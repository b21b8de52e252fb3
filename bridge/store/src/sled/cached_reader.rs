//! Reads durable data from the caches if possible, and otherwise from the disk.
//!
//! Data in memory are returned at once. Reads from the disk run on a thread of the store. Most readers request data that
//! were just written, so most reads need no thread.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::{
    committer::Publisher,
    keys::{self, Key},
    latest_append::LatestAppend,
    reader::Reader,
    reader_threads::ReaderThreads,
};
use crate::{
    Head, Page, Result, Snapshot, StoreError,
    cache::CachedTask,
    caller::Caller,
    list::{ListQuery, PageBuilder},
};

/// The number of events that are read at a time when a task is computed.
const PAGE: usize = 256;

/// The size in bytes from which tasks are read from the disk one after another: each takes several times its size
/// meanwhile, and who waited mostly finds the task in the cache.
pub(super) const LARGE: u64 = 1 << 20;

/// A reader with the caches in front of it.
#[derive(Clone, Debug)]
pub(super) struct CachedReader {
    pub(super) disk: Reader,
    pub(super) publisher: Publisher,
    threads: Arc<ReaderThreads>,
    /// Held by whoever reads a large task.
    large: Arc<Mutex<()>>,
}

impl CachedReader {
    pub(super) fn new(disk: Reader, publisher: Publisher) -> Result<Self> {
        Ok(Self {
            disk,
            publisher,
            threads: Arc::new(ReaderThreads::new()?),
            large: Arc::default(),
        })
    }

    pub(super) async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        Ok(self.latest(caller, task).await?.head)
    }

    pub(super) async fn latest(&self, caller: &Caller, task: &str) -> Result<LatestAppend> {
        if let Some(found) = self.disk.find_in_memory(task) {
            return self.owned(found, caller, task);
        }
        let (owner, id) = (caller.clone(), task.to_owned());
        self.blocking(move |reader| reader.owned(reader.disk.find(&id)?, &owner, &id)).await
    }

    /// Reads a task again that was found damaged, since the disk may only have failed for a while.
    ///
    /// Errors: `Damaged` if it still is.
    pub(super) async fn read_again(&self, caller: &Caller, task: &str) -> Result<()> {
        if self.disk.quarantine.reason(task).is_none() {
            return Ok(());
        }
        let (owner, id) = (caller.clone(), task.to_owned());
        self.blocking(move |reader| {
            let latest = reader.owned(reader.disk.find(&id)?, &owner, &id)?;
            reader.disk.read_all(&latest)
        })
        .await
    }

    /// Returns whether a task exists. The ids of deleted tasks may still be in the index.
    pub(super) async fn exists(&self, task: &str) -> Result<bool> {
        if let Some(found) = self.disk.find_in_memory(task) {
            return Ok(found.is_some());
        }
        let task = task.to_owned();
        self.blocking(move |reader| Ok(reader.disk.indexed_task(&task)?.is_some())).await
    }

    /// Returns the index entry of a key.
    pub(super) async fn entry<T: DeserializeOwned>(&self, key: Key) -> Result<Option<T>> {
        let entry = match self.disk.index().peek(&key) {
            Some(entry) => entry,
            None => self.blocking(move |reader| reader.disk.index().get(&key)).await?,
        };
        entry.map(|entry| keys::read(&entry)).transpose()
    }

    /// Returns the task after its newest append, from the cache if possible.
    pub(super) async fn snapshot(&self, latest: LatestAppend) -> Result<Snapshot> {
        if let Some(snapshot) = self.publisher.cache.get(&latest.head.task, latest.head.seq) {
            return Ok(snapshot);
        }
        if latest.bytes < LARGE {
            return self.blocking(move |reader| reader.compute(&latest)).await;
        }
        // All other threads may read pages that wait for the lock.
        let (alone, reader) = (self.large.clone().lock_owned().await, self.clone());
        self.threads.run_at_once(alone, move || reader.compute(&latest)).await
    }

    /// Runs work that waits for the disk on a thread of the store.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let reader = self.clone();
        self.threads.run(move || work(&reader)).await
    }

    /// Returns a page of tasks. Damaged tasks are counted, but not returned.
    pub(super) fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        let (found, total) = self.disk.page_positions(caller, query)?;
        let mut page = PageBuilder::new(query, found);
        while let Some(position) = page.next_position() {
            let latest = self.owned(self.disk.find(&position.task)?, caller, &position.task);
            let read = |latest: LatestAppend| {
                let _alone = (latest.bytes >= LARGE).then(|| self.large.blocking_lock());
                self.compute(&latest)
            };
            let snapshot = match latest.and_then(read) {
                Ok(snapshot) => Some(snapshot),
                // Damaged tasks and tasks that were deleted meanwhile are left out.
                Err(StoreError::Damaged { .. } | StoreError::NotFound { .. }) => None,
                Err(error) => return Err(error),
            };
            page.add(position, snapshot);
        }
        Ok(page.finish(total))
    }

    fn compute(&self, latest: &LatestAppend) -> Result<Snapshot> {
        let head = &latest.head;
        if let Some(snapshot) = self.publisher.cache.get(&head.task, head.seq) {
            return Ok(snapshot);
        }
        let known = self.publisher.cache.take(&head.task, head.seq);
        let mut cached = known.unwrap_or_else(|| CachedTask::empty(head));
        while cached.snapshot.seq < head.seq {
            for stored in self.disk.events(latest, cached.snapshot.seq, PAGE)? {
                cached.add(stored);
            }
        }
        let snapshot = cached.snapshot.clone();
        self.publisher.cache.put(&head.task, cached);
        Ok(snapshot)
    }

    fn owned(
        &self,
        found: Option<LatestAppend>,
        caller: &Caller,
        task: &str,
    ) -> Result<LatestAppend> {
        match found.filter(|latest| latest.head.owner == *caller) {
            Some(latest) => self.disk.intact(latest),
            None => Err(StoreError::not_found(task)),
        }
    }
}
