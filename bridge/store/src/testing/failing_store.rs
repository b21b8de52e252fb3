//! A store whose operations fail, panic or are counted.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bridge_protocol::a2a::TaskState;
use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::{
    Append, Deletion, DiskUse, Head, Idle, Leases, ListPosition, ListQuery, Listener, Page,
    RecordKey, Result, Seq, Snapshot, Store, StoreError, StoredEvent, TaskCounts, Watch,
    caller::Caller,
    testing::{Sample, status},
};

/// Wraps a store. Each counter says how many of the next operations fail, or counts operations.
#[derive(Debug)]
pub struct FailingStore {
    store: Arc<dyn Store>,
    /// The number of next reads of a task that fail.
    pub unreadable: AtomicUsize,
    /// The number of next reads of a head that panic.
    pub panicking: AtomicUsize,
    /// The number of next appends that fail with [`StoreError::Closed`].
    pub unwritable: AtomicUsize,
    /// The number of next appends that fail with [`StoreError::Unavailable`].
    pub unavailable: AtomicUsize,
    /// The number of next appends that fail with [`StoreError::Full`].
    pub full: AtomicUsize,
    /// The number of next appends that are made although they fail with [`StoreError::Unavailable`].
    pub unanswered: AtomicUsize,
    /// The number of next appends that return only when [`release`](Self::release) has a permit.
    pub delayed: AtomicUsize,
    /// The number of next calls of [`Store::watch`] that fail with [`StoreError::Unavailable`].
    pub unwatchable: AtomicUsize,
    /// The permits for delayed appends.
    pub release: Semaphore,
    /// The number of calls of [`Store::read`].
    pub reads: AtomicUsize,
    /// The number of waiting tasks that were returned.
    pub waiting_listed: AtomicUsize,
    /// The number of next counts of tasks before each of which another task ends.
    pub ended_before_count: AtomicUsize,
    /// The number of the oldest ended tasks that are deleted before the next list of ended tasks, as by another process.
    pub deleted_before_list: AtomicUsize,
    /// The number of calls of [`Store::maintain`].
    pub maintained: AtomicUsize,
    /// The number of stored small records.
    pub stored: AtomicUsize,
    /// The number of next writes and removals of small records that are refused with [`StoreError::Unavailable`].
    pub unrecordable: AtomicUsize,
    /// The number of writes and removals of small records that succeed before those.
    pub recordable: AtomicUsize,
    /// The leases, if several processes share the store.
    pub leases: OnceLock<Arc<dyn Leases>>,
}

impl FailingStore {
    /// Wraps a store; no operation fails yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            unreadable: AtomicUsize::new(0),
            panicking: AtomicUsize::new(0),
            unwritable: AtomicUsize::new(0),
            unavailable: AtomicUsize::new(0),
            full: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
            delayed: AtomicUsize::new(0),
            unwatchable: AtomicUsize::new(0),
            release: Semaphore::new(0),
            reads: AtomicUsize::new(0),
            waiting_listed: AtomicUsize::new(0),
            ended_before_count: AtomicUsize::new(0),
            deleted_before_list: AtomicUsize::new(0),
            maintained: AtomicUsize::new(0),
            stored: AtomicUsize::new(0),
            unrecordable: AtomicUsize::new(0),
            recordable: AtomicUsize::new(0),
            leases: OnceLock::new(),
        }
    }

    fn check_recordable(&self) -> Result<()> {
        match !decrement(&self.recordable) && decrement(&self.unrecordable) {
            true => Err(StoreError::Unavailable { reason: "a test says so".to_owned() }),
            false => Ok(()),
        }
    }
}

/// Decrements a counter. Returns whether it was above zero.
fn decrement(left: &AtomicUsize) -> bool {
    let less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
}

#[async_trait]
impl Store for FailingStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>> {
        let is_delayed = decrement(&self.delayed);
        let appended = match decrement(&self.unwritable) {
            true => Err(StoreError::Closed),
            false if decrement(&self.unavailable) => {
                Err(StoreError::Unavailable { reason: "a test says so".to_owned() })
            }
            false if decrement(&self.full) => Err(StoreError::Full { doing: "a test".to_owned() }),
            false if decrement(&self.unanswered) => {
                let appended = self.store.append(caller, append).await;
                appended.and(Err(StoreError::Unavailable { reason: "a test says so".to_owned() }))
            }
            false => self.store.append(caller, append).await,
        };
        if is_delayed && let Ok(release) = self.release.acquire().await {
            release.forget();
        }
        appended
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.store.read(caller, task, after, limit).await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        assert!(!decrement(&self.panicking), "the store breaks down");
        self.store.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot> {
        match decrement(&self.unreadable) {
            true => Err(StoreError::Corrupt {
                what: format!("task {task}"),
                reason: "this read goes wrong".to_owned(),
            }),
            false => self.store.task(caller, task).await,
        }
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        self.store.list(caller, query).await
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>> {
        self.store.find_message(caller, agent, message_id).await
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>> {
        self.store.find_client_task(caller, agent, client_id).await
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        self.store.open_turns(after, limit).await
    }

    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        if kind == Idle::Ended {
            let gone = self.deleted_before_list.swap(0, Ordering::SeqCst);
            let oldest = self.store.idle_tasks(kind, agent, None, Timestamp::MAX, gone);
            for head in oldest.await? {
                let deletion = Deletion::Ended;
                self.store.delete(&head.owner, &head.task, deletion).await?;
            }
        }
        let found = self.store.idle_tasks(kind, agent, after, until, limit).await?;
        if kind == Idle::Waiting {
            self.waiting_listed.fetch_add(found.len(), Ordering::SeqCst);
        }
        Ok(found)
    }

    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        self.store.delete(caller, task, deletion).await
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        if decrement(&self.ended_before_count) {
            let left = self.ended_before_count.load(Ordering::SeqCst);
            let sample = Sample::new(format!("ending-{left}"));
            let ended = vec![sample.created(), status(TaskState::Completed, "done")];
            let ended = sample.append(0, 1_000_000_000, ended);
            self.store.append(&sample.caller, ended).await?;
        }
        self.store.counts().await
    }

    async fn maintain(&self) -> Result<bool> {
        self.maintained.fetch_add(1, Ordering::SeqCst);
        self.store.maintain().await
    }

    /// Reports an empty disk, whatever the wrapped store is on.
    async fn disk_use(&self) -> Result<Option<DiskUse>> {
        Ok(Some(DiskUse::default()))
    }

    fn leases(&self) -> Option<Arc<dyn Leases>> {
        self.leases.get().cloned()
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch> {
        match decrement(&self.unwatchable) {
            true => Err(StoreError::Unavailable { reason: "a test says so".to_owned() }),
            false => self.store.watch(caller, task).await,
        }
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.store.listen(listener);
    }

    async fn put_record(&self, caller: &Caller, key: &RecordKey, value: Vec<u8>) -> Result<()> {
        self.check_recordable()?;
        self.stored.fetch_add(1, Ordering::SeqCst);
        self.store.put_record(caller, key, value).await
    }

    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>> {
        self.store.record(caller, key).await
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool> {
        self.check_recordable()?;
        self.store.delete_record(caller, key).await
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        self.store.records(caller, kind, scope).await
    }

    async fn have_records(&self, kind: &str, scopes: &[(Caller, String)]) -> Result<Vec<bool>> {
        self.store.have_records(kind, scopes).await
    }
}
