//! Reads durable data: from the caches if possible, otherwise from the disk.
//!
//! Data in memory is returned at once. Reads from the disk run on a thread of the store. Most readers request data that was
//! written a moment ago, so most reads need no thread.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::{
    committer::Publisher,
    keys::{self, Key},
    reader::Reader,
    reader_threads::ReaderThreads,
    tip::Tip,
};
use crate::{
    Head, Page, Snapshot, StoreError,
    cache::CachedTask,
    caller::Caller,
    list::{ListPosition, ListQuery},
};

/// The number of events that are read at a time when a task is computed.
const PAGE: usize = 256;

/// The size in bytes from which tasks are read from the disk one after another: each takes several times its size
/// meanwhile, and who waited mostly finds the task in the cache.
const LARGE: u64 = 1 << 20;

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
    pub(super) fn new(disk: Reader, publisher: Publisher) -> Result<Self, StoreError> {
        Ok(Self {
            disk,
            publisher,
            threads: Arc::new(ReaderThreads::new()?),
            large: Arc::default(),
        })
    }

    /// Returns the head of the caller's task.
    pub(super) async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        Ok(self.tip(caller, task).await?.head)
    }

    pub(super) async fn tip(&self, caller: &Caller, task: &str) -> Result<Tip, StoreError> {
        if let Some(found) = self.disk.find_in_memory(task) {
            return self.owned(found, caller, task);
        }
        let (owner, id) = (caller.clone(), task.to_owned());
        self.blocking(move |reader| reader.owned(reader.disk.find(&id)?, &owner, &id))
            .await
    }

    /// Whether a task is there: ids of deleted ones may still be found.
    pub(super) async fn exists(&self, task: &str) -> Result<bool, StoreError> {
        if let Some(found) = self.disk.find_in_memory(task) {
            return Ok(found.is_some());
        }
        let task = task.to_owned();
        self.blocking(move |reader| Ok(reader.disk.indexed_task(&task)?.is_some()))
            .await
    }

    /// Returns the index entry of a key.
    pub(super) async fn entry<T: DeserializeOwned>(
        &self,
        key: Key,
    ) -> Result<Option<T>, StoreError> {
        let entry = match self.disk.index().peek(&key) {
            Some(entry) => entry,
            None => {
                self.blocking(move |reader| reader.disk.index().get(&key))
                    .await?
            }
        };
        entry.map(|entry| keys::read(&entry)).transpose()
    }

    /// Returns the task after its newest append, from the cache if possible.
    pub(super) async fn snapshot(&self, tip: Tip) -> Result<Snapshot, StoreError> {
        if let Some(snapshot) = self.publisher.cache.get(&tip.head.task, tip.head.seq) {
            return Ok(snapshot);
        }
        let alone = match tip.bytes {
            0..LARGE => None,
            LARGE.. => Some(self.large.clone().lock_owned().await),
        };
        self.blocking(move |reader| {
            let _alone = alone;
            reader.compute(&tip)
        })
        .await
    }

    /// Runs work that waits for the disk on a thread of the store.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let reader = self.clone();
        self.threads.run(move || work(&reader)).await
    }

    /// Returns a page of tasks. Damaged tasks are counted, but not returned.
    pub(super) fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let places = self.disk.places(caller, query)?;
        let load = |place: &ListPosition| {
            let tip = self.owned(self.disk.find(&place.task)?, caller, &place.task);
            let read = |tip: Tip| {
                let _alone = (tip.bytes >= LARGE).then(|| self.large.blocking_lock());
                self.compute(&tip)
            };
            match tip.and_then(read) {
                // The page does not keep what was not requested.
                Ok(Snapshot { task, seq }) => Ok(Some(Snapshot {
                    task: query.select_content(task),
                    seq,
                })),
                // A task that was deleted meanwhile is left out too.
                Err(StoreError::Damaged { .. } | StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let (tasks, next) = query.fill(places.tasks, places.next, load)?;
        Ok(Page {
            tasks,
            next,
            total: places.total,
        })
    }

    fn compute(&self, tip: &Tip) -> Result<Snapshot, StoreError> {
        let head = &tip.head;
        if let Some(snapshot) = self.publisher.cache.get(&head.task, head.seq) {
            return Ok(snapshot);
        }
        let known = self.publisher.cache.take(&head.task, head.seq);
        let mut cached = known.unwrap_or_else(|| CachedTask::empty(head));
        while cached.snapshot.seq < head.seq {
            for stored in self.disk.events(tip, cached.snapshot.seq, PAGE)? {
                cached.add(stored);
            }
        }
        let snapshot = cached.snapshot.clone();
        self.publisher.cache.put(&head.task, cached);
        Ok(snapshot)
    }

    /// Returns the task if the caller owns it.
    fn owned(&self, found: Option<Tip>, caller: &Caller, task: &str) -> Result<Tip, StoreError> {
        match found.filter(|tip| tip.head.owner == *caller) {
            Some(tip) => self.disk.intact(tip),
            None => Err(StoreError::not_found(task)),
        }
    }
}
