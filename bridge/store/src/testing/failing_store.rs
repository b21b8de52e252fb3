//! A store of which some operations fail, panic or are counted.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bridge_protocol::a2a::TaskState;
use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::{
    Append, Deletion, EndedTasks, Head, ListPosition, ListQuery, Listener, Page, RecordKey, Seq,
    Snapshot, Store, StoreError, StoredEvent, Watch,
    caller::Caller,
    testing::{Sample, status},
};

/// Wraps a store, and lets the given numbers of the next operations fail.
#[derive(Debug)]
pub struct FailingStore {
    store: Arc<dyn Store>,
    /// The number of next tasks that cannot be read.
    pub unreadable: AtomicUsize,
    /// The number of next reads of a head that panic.
    pub panicking: AtomicUsize,
    /// The number of next appends that fail with [`StoreError::Closed`].
    pub unwritable: AtomicUsize,
    /// The number of next appends that fail with [`StoreError::Unavailable`].
    pub unavailable: AtomicUsize,
    /// The number of next appends whose outcome is only told when [`told`](Self::told) has a permit.
    pub untold: AtomicUsize,
    /// See `untold`.
    pub told: Semaphore,
    /// The number of reads of a log.
    pub reads: AtomicUsize,
    /// The number of waiting tasks that were looked at.
    pub looked_at: AtomicUsize,
    /// The number of next counts of ended tasks before each of which another one ends.
    pub ending: AtomicUsize,
    /// The number of the oldest ended tasks that another process deletes before the next list of them.
    pub racing: AtomicUsize,
    /// The number of steps in which room was given back.
    pub maintained: AtomicUsize,
    /// The number of small records that were stored.
    pub stored: AtomicUsize,
}

impl FailingStore {
    /// Wraps this store, without failures yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            unreadable: AtomicUsize::new(0),
            panicking: AtomicUsize::new(0),
            unwritable: AtomicUsize::new(0),
            unavailable: AtomicUsize::new(0),
            untold: AtomicUsize::new(0),
            told: Semaphore::new(0),
            reads: AtomicUsize::new(0),
            looked_at: AtomicUsize::new(0),
            ending: AtomicUsize::new(0),
            racing: AtomicUsize::new(0),
            maintained: AtomicUsize::new(0),
            stored: AtomicUsize::new(0),
        }
    }
}

/// Decrements a counter; returns whether it was above zero.
fn takes(left: &AtomicUsize) -> bool {
    let less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

#[async_trait]
impl Store for FailingStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let is_untold = takes(&self.untold);
        let appended = match takes(&self.unwritable) {
            true => Err(StoreError::Closed),
            false if takes(&self.unavailable) => Err(StoreError::Unavailable {
                reason: "a test says so".to_owned(),
            }),
            false => self.store.append(caller, append).await,
        };
        if is_untold && let Ok(told) = self.told.acquire().await {
            told.forget();
        }
        appended
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.store.read(caller, task, after, limit).await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        assert!(!takes(&self.panicking), "the store breaks down");
        self.store.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        match takes(&self.unreadable) {
            true => Err(StoreError::Corrupt {
                what: format!("task {task}"),
                reason: "this read goes wrong".to_owned(),
            }),
            false => self.store.task(caller, task).await,
        }
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        self.store.list(caller, query).await
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError> {
        self.store.find_message(caller, agent, message_id).await
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        self.store.find_client_task(caller, agent, client_id).await
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.store.open_turns(after, limit).await
    }

    async fn waiting_tasks(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let found = self.store.waiting_tasks(agent, after, until, limit).await?;
        self.looked_at.fetch_add(found.len(), Ordering::SeqCst);
        Ok(found)
    }

    async fn open_counts(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        self.store.open_counts().await
    }

    async fn delete(
        &self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
    ) -> Result<(), StoreError> {
        self.store.delete(caller, task, deletion).await
    }

    async fn ended_tasks(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let racing = self.racing.swap(0, Ordering::SeqCst);
        let oldest = self.store.ended_tasks(agent, None, Timestamp::MAX, racing);
        for head in oldest.await? {
            let deletion = Deletion::Ended;
            self.store.delete(&head.owner, &head.task, deletion).await?;
        }
        self.store.ended_tasks(agent, after, until, limit).await
    }

    async fn ended_counts(&self) -> Result<BTreeMap<String, EndedTasks>, StoreError> {
        if takes(&self.ending) {
            let left = self.ending.load(Ordering::SeqCst);
            let sample = Sample::new(format!("ending-{left}"));
            let ended = vec![sample.created(), status(TaskState::Completed, "done")];
            let ended = sample.append(0, 1_000_000_000, ended);
            self.store.append(&sample.caller, ended).await?;
        }
        self.store.ended_counts().await
    }

    async fn maintain(&self) -> Result<bool, StoreError> {
        self.maintained.fetch_add(1, Ordering::SeqCst);
        self.store.maintain().await
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        self.store.watch(caller, task).await
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.store.listen(listener);
    }

    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.stored.fetch_add(1, Ordering::SeqCst);
        self.store.put_record(caller, key, value).await
    }

    async fn record(
        &self,
        caller: &Caller,
        key: &RecordKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.record(caller, key).await
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool, StoreError> {
        self.store.delete_record(caller, key).await
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.store.records(caller, kind, scope).await
    }

    async fn have_records(
        &self,
        kind: &str,
        scopes: &[(Caller, String)],
    ) -> Result<Vec<bool>, StoreError> {
        self.store.have_records(kind, scopes).await
    }
}
