//! What readers are shown: only what is durable, from caches as far as they go.

use std::sync::Arc;

use super::{
    committer::Told,
    heads::Tip,
    reader::{Part, Reader},
};
use crate::{
    caller::Caller,
    store::{Head, Seq, Snapshot, StoreError, Stored, cache::Cached},
};

/// How many events are read at once when a task is computed.
const PAGE: usize = 256;

/// The store as its readers see it.
#[derive(Debug)]
pub(super) struct View {
    pub(super) reader: Reader,
    pub(super) told: Told,
}

impl View {
    /// The head of the caller's task.
    pub(super) fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        Ok(self.tip(caller, task)?.head)
    }

    pub(super) fn tip(&self, caller: &Caller, task: &str) -> Result<Tip, StoreError> {
        let owned = self.reader.tip(task)?;
        let owned = owned.filter(|tip| tip.head.owner == *caller);
        owned.ok_or_else(|| StoreError::not_found(task))
    }

    /// At most `limit` events after `after`.
    pub(super) async fn read(
        &self,
        tip: &Tip,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        Ok(self.part(tip, after, limit).await?.events)
    }

    async fn part(&self, tip: &Tip, after: Seq, limit: usize) -> Result<Part, StoreError> {
        if let Some(part) = self.reader.events(tip, after, limit, false)? {
            return Ok(part);
        }
        let (reader, tip) = (self.reader.clone(), tip.clone());
        let part = blocking(move || reader.events(&tip, after, limit, true)).await?;
        Ok(part.unwrap_or_default())
    }

    /// The task as it stands after its newest append, from the cache as far as that goes.
    pub(super) async fn snapshot(&self, tip: &Tip) -> Result<Snapshot, StoreError> {
        let head = &tip.head;
        if let Some(snapshot) = self.told.cache.get(&head.task, head.seq) {
            return Ok(snapshot);
        }
        let known = self.told.cache.take(&head.task, head.seq);
        let mut cached = known.unwrap_or_else(|| Cached {
            snapshot: Snapshot::empty(head),
            bytes: 0,
        });
        while cached.snapshot.seq < head.seq {
            let part = self.part(tip, cached.snapshot.seq, PAGE).await?;
            cached.bytes += part.bytes;
            for stored in part.events {
                cached.snapshot.apply(stored);
            }
        }
        let snapshot = cached.snapshot.clone();
        self.told.cache.put(&head.task, cached);
        Ok(snapshot)
    }
}

/// Runs what waits for the disk where it holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| StoreError::Closed)?
}
