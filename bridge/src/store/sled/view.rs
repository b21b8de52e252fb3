//! What readers are shown: only what is durable, from caches as far as they go.
//!
//! What is in memory is answered at once; what the disk has to be asked for is read on a thread that may wait.
//! Which of both it is costs nothing to know, and most readers ask for what was written a moment ago.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{
    committer::Publisher,
    index::Tip,
    keys::{self, Key},
    reader::{Found, Reader},
};
use crate::{
    caller::Caller,
    store::{
        Head, Page, Snapshot, StoreError,
        cache::Cached,
        list::{ListPosition, ListQuery},
    },
};

/// How many events are read at once when a task is computed.
const PAGE: usize = 256;

/// The store as its readers see it.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) reader: Reader,
    pub(super) publisher: Publisher,
}

impl View {
    /// The head of the caller's task.
    pub(super) async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        Ok(self.tip(caller, task).await?.head)
    }

    pub(super) async fn tip(&self, caller: &Caller, task: &str) -> Result<Tip, StoreError> {
        if let Some(found) = self.reader.find_in_memory(task) {
            return owned(Some(found), caller, task);
        }
        let (owner, id) = (caller.clone(), task.to_owned());
        self.blocking(move |view| owned(view.reader.find(&id)?, &owner, &id))
            .await
    }

    /// The entry of a key in the index.
    pub(super) async fn entry<T: DeserializeOwned>(
        &self,
        key: Key,
    ) -> Result<Option<T>, StoreError> {
        let entry = match self.reader.index().peek(&key) {
            Some(entry) => entry,
            None => {
                self.blocking(move |view| view.reader.index().get(&key))
                    .await?
            }
        };
        entry.map(|entry| keys::read(&entry)).transpose()
    }

    /// The task as it stands after its newest append, from the cache as far as that goes.
    pub(super) async fn snapshot(&self, tip: Tip) -> Result<Snapshot, StoreError> {
        match self.publisher.cache.get(&tip.head.task, tip.head.seq) {
            Some(snapshot) => Ok(snapshot),
            None => self.blocking(move |view| view.compute(&tip)).await,
        }
    }

    /// Runs what waits for the disk where it holds up nobody.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let view = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&view)).await;
        done.map_err(|_| StoreError::Closed)?
    }

    /// A page of tasks. Those that are damaged are counted only.
    pub(super) fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let places = self.reader.places(caller, query)?;
        let load = |place: &ListPosition| {
            let tip = owned(self.reader.find(&place.task)?, caller, &place.task);
            match tip.and_then(|tip| self.compute(&tip)) {
                // What is not wanted is not held by the page.
                Ok(Snapshot { task, seq }) => Ok(Some(Snapshot {
                    task: query.wanted(task),
                    seq,
                })),
                Err(StoreError::Damaged { .. }) => Ok(None),
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
        let mut cached = known.unwrap_or_else(|| Cached::empty(head));
        while cached.snapshot.seq < head.seq {
            let part = self.reader.events(tip, cached.snapshot.seq, PAGE)?;
            cached.bytes += part.bytes;
            for stored in part.events {
                cached.snapshot.apply(stored);
            }
        }
        let snapshot = cached.snapshot.clone();
        self.publisher.cache.put(&head.task, cached);
        Ok(snapshot)
    }
}

/// What the caller is told of a task that was looked for.
fn owned(found: Option<Found>, caller: &Caller, task: &str) -> Result<Tip, StoreError> {
    match found {
        Some(Found::Whole(tip)) if tip.head.owner == *caller => Ok(tip),
        Some(Found::Damaged { owner, reason }) if owner == *caller => {
            let task = task.into();
            Err(StoreError::Damaged { task, reason })
        }
        Some(Found::Whole(_) | Found::Damaged { .. }) | None => Err(StoreError::not_found(task)),
    }
}
