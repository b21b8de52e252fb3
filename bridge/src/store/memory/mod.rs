//! Tasks in memory: for tests, and for agents whose tasks may be forgotten.

mod kept;

use std::{
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use async_trait::async_trait;

use self::kept::Kept;
use super::{
    Append, Head, ListQuery, Listener, Page, RecordKey, Seq, Snapshot, Store, StoreError, Stored,
    Watch, feed::Feed,
};
use crate::caller::Caller;

/// A store that forgets everything when it is dropped. It grows with each task.
#[derive(Debug)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
    feed: Feed,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            kept: Mutex::default(),
            feed: Feed::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let append = append.checked()?;
        let (head, events) = self.lock().append(caller, append)?;
        self.feed.publish_events(&head, &events);
        Ok(head)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        // Others need not wait while the events are copied.
        let later = self.lock().entry(caller, task)?.later(after, limit);
        let later = later.iter().flat_map(|events| events.iter());
        let later = later.filter(|stored| stored.seq > after);
        Ok(later.take(limit).cloned().collect())
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        Ok(Arc::clone(&self.lock().entry(caller, task)?.head))
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        Ok(self.lock().entry(caller, task)?.snapshot.clone())
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        self.lock().page(caller, query)
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError> {
        let kept = self.lock();
        let account = kept.account(caller, agent);
        Ok(account.and_then(|account| account.messages.get(message_id).cloned()))
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        let kept = self.lock();
        let account = kept.account(caller, agent);
        Ok(account.and_then(|account| account.client_tasks.get(client_id).cloned()))
    }

    async fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let kept = self.lock();
        let from = (Bound::Excluded(after), Bound::Unbounded);
        let open = kept.open.range::<str, _>(from).take(limit);
        let entries = open.filter_map(|task| kept.tasks.get(task));
        Ok(entries.map(|entry| entry.head.as_ref().clone()).collect())
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.feed.watch(task);
        let head = Arc::clone(&self.lock().entry(caller, task)?.head);
        self.feed.publish(&head);
        Ok(watch)
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.feed.listen(listener);
    }

    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        key.check(&value)?;
        let key = (caller.clone(), key.clone());
        self.lock().records.insert(key, value);
        Ok(())
    }

    async fn record(
        &self,
        caller: &Caller,
        key: &RecordKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = (caller.clone(), key.clone());
        Ok(self.lock().records.get(&key).cloned())
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool, StoreError> {
        let key = (caller.clone(), key.clone());
        Ok(self.lock().records.remove(&key).is_some())
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let first = RecordKey {
            kind: kind.into(),
            scope: scope.into(),
            id: String::new(),
        };
        let kept = self.lock();
        let from = kept.records.range((caller.clone(), first)..);
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
    use crate::store::testing::Backend;

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
