//! What readers are shown: only what is durable, from caches as far as they go.

use std::sync::Arc;

use super::{codec::Record, committer::Told, content::ContentFiles, keys, reader::Reader};
use crate::{
    caller::Caller,
    store::{Head, Seq, Snapshot, StoreError, Stored, cache::Cached},
};

/// How many events are read at once when a task is computed.
const PAGE: usize = 256;

/// The database as its readers see it.
#[derive(Debug)]
pub(super) struct View {
    pub(super) reader: Reader,
    pub(super) content: Arc<ContentFiles>,
    pub(super) told: Told,
}

impl View {
    /// The head as far as it is durable.
    pub(super) async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        let head = match self.told.heads.get(task) {
            Some(head) => Some(head),
            None => {
                let head = self.reader.head(task)?;
                self.settled(task).await?;
                head.map(Arc::new)
            }
        };
        let owned = head.filter(|head| head.owner == *caller);
        owned.ok_or_else(|| StoreError::not_found(task))
    }

    /// Waits until what was just read of the task is durable.
    pub(super) async fn settled(&self, task: &str) -> Result<(), StoreError> {
        self.told.flight.settled(&keys::log(task)).await
    }

    /// The events of a record, wherever they are.
    async fn events(&self, record: Record) -> Result<Vec<Stored>, StoreError> {
        let Some(hash) = record.file()? else {
            return record.events();
        };
        let content = Arc::clone(&self.content);
        blocking(move || record.events_from(&content.read(&hash)?)).await
    }

    /// At most `limit` events after `after`, none of them after `head`.
    pub(super) async fn read(
        &self,
        head: &Head,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let there = usize::try_from(head.seq.saturating_sub(after)).unwrap_or(usize::MAX);
        let limit = limit.min(there);
        let mut events = Vec::new();
        if limit > 0 {
            for record in self.reader.log(&head.task, after, limit)? {
                events.extend(self.events(record).await?);
            }
        }
        events.retain(|stored| stored.seq > after);
        events.truncate(limit);
        Ok(events)
    }

    /// The task as it stands after `head`, from the cache as far as that goes.
    pub(super) async fn snapshot(&self, head: &Head) -> Result<Snapshot, StoreError> {
        if let Some(snapshot) = self.told.cache.get(&head.task, head.seq) {
            return Ok(snapshot);
        }
        let known = self.told.cache.take(&head.task, head.seq);
        let mut cached = known.unwrap_or_else(|| Cached {
            snapshot: Snapshot::empty(head),
            bytes: 0,
        });
        while cached.snapshot.seq < head.seq {
            self.advance(head, &mut cached).await?;
        }
        let snapshot = cached.snapshot.clone();
        self.told.cache.put(&head.task, cached);
        Ok(snapshot)
    }

    /// Applies the next events, but none after `head`: those may not be durable.
    async fn advance(&self, head: &Head, cached: &mut Cached) -> Result<(), StoreError> {
        let before = cached.snapshot.seq;
        let records = self.reader.log(&head.task, before, PAGE)?;
        let records = records.into_iter();
        for record in records.take_while(|record| record.last <= head.seq) {
            cached.bytes += record.bytes.len();
            for stored in self.events(record).await? {
                cached.snapshot.apply(stored);
            }
        }
        match cached.snapshot.seq > before {
            true => Ok(()),
            false => Err(StoreError::corrupt(
                format!("task {}", head.task),
                &format!("the events after {before} are missing"),
            )),
        }
    }
}

/// Runs what waits for the disk where it holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| StoreError::Closed)?
}
