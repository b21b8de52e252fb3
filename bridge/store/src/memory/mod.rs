//! Stores tasks in memory, for tests and for agents whose tasks need not survive a restart.

mod stored_append;
mod tables;
mod task_lists;

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use async_trait::async_trait;
use jiff::Timestamp;

use self::{stored_append::StoredAppend, tables::MemoryTables};
use super::{
    Append, Deletion, Event, Head, Idle, ListPosition, ListQuery, Listener, Page, RecordKey,
    Result, Seq, Snapshot, Store, StoreError, StoredEvent, TaskCounts, Watch,
    cache::{Cache, CachedTask},
    feed::Feed,
    list::PageBuilder,
};
use crate::caller::Caller;

/// The approximate size of the cached tasks, in bytes.
const CACHE_BYTES: usize = 16 << 20;

/// A store in memory. It grows with each task, and all data are lost when it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    tables: Mutex<MemoryTables>,
    cache: Cache,
    feed: Feed,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self { tables: Mutex::default(), cache: Cache::new(CACHE_BYTES), feed: Feed::default() }
    }

    /// Returns the task after the last event of this head, from the cache if possible.
    fn snapshot(&self, head: &Head) -> Result<Snapshot> {
        if let Some(snapshot) = self.cache.get(&head.task, head.seq) {
            return Ok(snapshot);
        }
        let known = self.cache.take(&head.task, head.seq);
        let mut cached = known.unwrap_or_else(|| CachedTask::empty(head));
        let seen = cached.snapshot.seq;
        // The events are read without the lock.
        let later = self.lock().entry(&head.owner, &head.task)?.later(seen, usize::MAX);
        let later = later.events(seen, usize::MAX)?.into_iter();
        later.take_while(|stored| stored.seq <= head.seq).for_each(|stored| cached.add(stored));
        let snapshot = cached.snapshot.clone();
        self.cache.put(&head.task, cached);
        Ok(snapshot)
    }

    fn lock(&self) -> MutexGuard<'_, MemoryTables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>> {
        let mut append = append.checked()?;
        let context_id = match append.events.first() {
            Some(Event::Created(created)) => Some(Arc::clone(&created.context_id)),
            Some(_) | None => {
                let tables = self.lock();
                tables.tasks.get(&append.task).map(|entry| Arc::clone(&entry.head.context_id))
            }
        };
        // The events are written without the lock.
        let written = StoredAppend::of(&mut append, context_id.as_deref())?;
        let head = self.lock().append(caller, &append, written)?;
        self.cache.publish(&self.feed, &head, append);
        Ok(head)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        // The events are read without the lock.
        let later = self.lock().entry(caller, task)?.later(after, limit);
        later.events(after, limit)
    }

    async fn owner(&self, task: &str) -> Result<Caller> {
        let tables = self.lock();
        let entry = tables.tasks.get(task);
        entry.map(|entry| entry.head.owner.clone()).ok_or_else(|| StoreError::not_found(task))
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        Ok(Arc::clone(&self.lock().entry(caller, task)?.head))
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot> {
        let head = Arc::clone(&self.lock().entry(caller, task)?.head);
        self.snapshot(&head)
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        let (found, total) = self.lock().page(caller, query)?;
        let mut page = PageBuilder::new(query, found);
        while let Some(position) = page.next_position() {
            // The task may have been deleted meanwhile.
            let head = self.head(caller, &position.task).await.ok();
            let snapshot = head.map(|head| self.snapshot(&head)).transpose()?;
            page.add(position, snapshot);
        }
        Ok(page.finish(total))
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>> {
        let tables = self.lock();
        let Some(index) = tables.caller_index(caller, agent) else {
            return Ok(None);
        };
        let found = tables.find_message(index, message_id)?;
        Ok(found.map(|(task, seq)| (task.to_string(), seq)))
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>> {
        let tables = self.lock();
        let index = tables.caller_index(caller, agent);
        Ok(index.and_then(|index| index.client_tasks.get(client_id)).map(ToString::to_string))
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        let tables = self.lock();
        let later = (Bound::Excluded(after), Bound::Unbounded);
        Ok(tables.heads(tables.turns.range::<str, _>(later).take(limit)))
    }

    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        let tables = self.lock();
        let after = after.map(|after| (after.millis, Arc::from(after.task.as_str())));
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let tasks = tables.idle.get(&(kind, agent.into())).into_iter();
        let later = tasks.flat_map(|tasks| tasks.range((after.clone(), Bound::Unbounded)));
        let due = later.take_while(|(millis, _)| *millis <= until.as_millisecond());
        Ok(tables.heads(due.take(limit).map(|(_, task)| task)))
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        let counts = self.lock().counts.clone().into_iter();
        let counts = counts.map(|(agent, counts)| (agent.to_string(), counts));
        Ok(counts.filter(|(_, counts)| *counts != TaskCounts::default()).collect())
    }

    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        self.lock().delete(caller, task, deletion)?;
        self.cache.forget(task);
        self.feed.end(task);
        Ok(())
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch> {
        let watch = self.feed.watch(task);
        let head = Arc::clone(&self.lock().entry(caller, task)?.head);
        Ok(watch.with_head(&head))
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.feed.listen(listener);
    }

    async fn put_record(&self, caller: &Caller, key: &RecordKey, value: Vec<u8>) -> Result<()> {
        key.check(&value)?;
        let key = (caller.clone(), key.clone());
        self.lock().records.insert(key, value);
        Ok(())
    }

    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>> {
        let key = (caller.clone(), key.clone());
        Ok(self.lock().records.get(&key).cloned())
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool> {
        let key = (caller.clone(), key.clone());
        Ok(self.lock().records.remove(&key).is_some())
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let first = RecordKey { kind: kind.into(), scope: scope.into(), id: String::new() };
        let tables = self.lock();
        let from = tables.records.range((caller.clone(), first)..);
        let ours = from
            .take_while(|((owner, key), _)| {
                owner == caller && key.kind == kind && key.scope == scope
            })
            .map(|((_, key), value)| (key.id.clone(), value.clone()));
        Ok(ours.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Backend;

    struct Memory;

    impl Backend for Memory {
        fn open(&self) -> Arc<dyn Store> {
            Arc::new(MemoryStore::new())
        }

        fn is_durable(&self) -> bool {
            false
        }
    }

    crate::store_tests!(Memory);
}
