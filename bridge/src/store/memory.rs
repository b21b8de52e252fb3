//! Tasks in memory: for tests, and for agents whose tasks may be forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    Append, Changes, Head, ListQuery, Page, RecordKey, Seq, Snapshot, Store, StoreError, Stored,
    Watch,
    feed::Feed,
    lease::Leases,
    list::{Position, cut},
    record,
};
use crate::caller::Caller;

/// A store that forgets everything when it is dropped. It grows with each task.
#[derive(Debug)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
    feed: Feed,
    leases: Leases,
}

#[derive(Debug, Default)]
struct Kept {
    tasks: BTreeMap<String, Entry>,
    messages: BTreeMap<Key, (String, Seq)>,
    client_tasks: BTreeMap<Key, String>,
    /// The tasks of each caller at each agent, in the order of lists.
    lists: BTreeMap<(Caller, String), BTreeSet<Position>>,
    open: BTreeSet<String>,
    records: BTreeMap<(Caller, RecordKey), Vec<u8>>,
}

/// Caller, agent, and the id that the caller made.
type Key = (Caller, String, String);

#[derive(Debug)]
struct Entry {
    head: Head,
    log: Vec<Stored>,
    snapshot: Snapshot,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            kept: Mutex::default(),
            feed: Feed::new(),
            leases: Leases::default(),
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

impl Kept {
    fn entry(&self, caller: &Caller, task: &str) -> Result<&Entry, StoreError> {
        let entry = self.tasks.get(task);
        entry
            .filter(|entry| entry.head.owner == *caller)
            .ok_or_else(|| StoreError::not_found(task))
    }

    fn append(&mut self, caller: &Caller, append: Append) -> Result<Head, StoreError> {
        let before = self.tasks.get(&append.task).map(|entry| &entry.head);
        let after = Head::after(before, caller, &append)?;
        let before = before.cloned();
        self.check_ids(&after, &append)?;
        if let Some(before) = &before {
            self.unlist(before);
        }
        self.list(&after);
        self.remember_ids(&after, &append);
        self.log(after.clone(), append);
        Ok(after)
    }

    /// Refuses ids that were used before.
    fn check_ids(&self, head: &Head, append: &Append) -> Result<(), StoreError> {
        if let Some(id) = head.client_id.as_ref().filter(|_| append.expected == 0)
            && let Some(task) = self.client_tasks.get(&key(head, id))
        {
            return Err(StoreError::Taken {
                client_id: id.clone(),
                task: task.clone(),
            });
        }
        for (id, _) in append.message_ids() {
            if let Some((task, seq)) = self.messages.get(&key(head, id)) {
                return Err(StoreError::Duplicate {
                    message_id: id.into(),
                    task: task.clone(),
                    seq: *seq,
                });
            }
        }
        Ok(())
    }

    fn remember_ids(&mut self, head: &Head, append: &Append) {
        if let Some(id) = head.client_id.as_ref().filter(|_| append.expected == 0) {
            self.client_tasks.insert(key(head, id), head.task.clone());
        }
        for (id, seq) in append.message_ids() {
            let place = (head.task.clone(), seq);
            self.messages.insert(key(head, id), place);
        }
    }

    fn unlist(&mut self, head: &Head) {
        if let Some(list) = self.lists.get_mut(&list_of(head)) {
            list.remove(&Position::of(head));
        }
        self.open.remove(&head.task);
    }

    fn list(&mut self, head: &Head) {
        let list = self.lists.entry(list_of(head)).or_default();
        list.insert(Position::of(head));
        if head.is_open() {
            self.open.insert(head.task.clone());
        }
    }

    fn log(&mut self, head: Head, append: Append) {
        let entry = self.tasks.entry(head.task.clone());
        let entry = entry.or_insert_with(|| Entry {
            head: head.clone(),
            log: Vec::new(),
            snapshot: Snapshot::empty(&head),
        });
        entry.head = head;
        for stored in append.into_stored() {
            entry.snapshot.apply(stored.clone());
            entry.log.push(stored);
        }
    }

    fn page(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let from = Position::parse(&query.page_token)?;
        let empty = BTreeSet::new();
        let list = self.lists.get(&(caller.clone(), query.agent.clone()));
        let list = list.unwrap_or(&empty);
        let start = from.map_or(Bound::Unbounded, Bound::Excluded);
        let later = list.range((start, Bound::Unbounded));
        let page = later.filter(|one| self.matches(query, one)).cloned();
        let (positions, next) = cut(page.take(query.page_size + 1).collect(), query.page_size);
        let tasks = positions.iter().filter_map(|one| self.tasks.get(&one.task));
        Ok(Page {
            tasks: tasks.map(|entry| entry.snapshot.clone()).collect(),
            next,
            total: match query.is_narrow() {
                true => list.iter().filter(|one| self.matches(query, one)).count(),
                false => list.len(),
            },
        })
    }

    fn matches(&self, query: &ListQuery, place: &Position) -> bool {
        let entry = self.tasks.get(&place.task);
        entry.is_some_and(|entry| query.matches(&entry.head))
    }
}

fn key(head: &Head, id: &str) -> Key {
    (head.owner.clone(), head.agent.clone(), id.to_owned())
}

fn list_of(head: &Head) -> (Caller, String) {
    (head.owner.clone(), head.agent.clone())
}

#[async_trait]
impl Store for MemoryStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Seq, StoreError> {
        let append = append.checked()?;
        let head = self.lock().append(caller, append)?;
        self.feed.publish(&head);
        Ok(head.seq)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let kept = self.lock();
        let log = &kept.entry(caller, task)?.log;
        let later = log.iter().skip_while(|stored| stored.seq <= after);
        Ok(later.take(limit).cloned().collect())
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Head, StoreError> {
        Ok(self.lock().entry(caller, task)?.head.clone())
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
        let key = (caller.clone(), agent.into(), message_id.into());
        Ok(self.lock().messages.get(&key).cloned())
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        let key = (caller.clone(), agent.into(), client_id.into());
        Ok(self.lock().client_tasks.get(&key).cloned())
    }

    async fn open_tasks(
        &self,
        after: Option<&Head>,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let kept = self.lock();
        let after = after.map_or("", |head| head.task.as_str());
        let from = (Bound::Excluded(after), Bound::Unbounded);
        let open = kept.open.range::<str, _>(from).take(limit);
        let entries = open.filter_map(|task| kept.tasks.get(task));
        Ok(entries.map(|entry| entry.head.clone()).collect())
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.feed.watch(task);
        let seq = self.lock().entry(caller, task)?.head.seq;
        self.feed.seen(task, seq);
        Ok(watch)
    }

    fn changes(&self) -> Changes {
        self.feed.changes()
    }

    async fn acquire(
        &self,
        caller: &Caller,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.lock().entry(caller, task)?;
        self.leases.acquire(task, holder, now, until)
    }

    async fn renew(
        &self,
        caller: &Caller,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.lock().entry(caller, task)?;
        self.leases.renew(task, holder, now, until)
    }

    async fn release(&self, caller: &Caller, task: &str, holder: &str) -> Result<(), StoreError> {
        self.lock().entry(caller, task)?;
        self.leases.release(task, holder);
        Ok(())
    }

    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        record::check_size(key, &value)?;
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
    use std::sync::Arc;

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
