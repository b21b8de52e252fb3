//! A store that reports metrics: the duration of appends, the numbers of failures and refusals, and of open tasks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use bridge_telemetry::{Instrument as _, Kind, span};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::store::{
    Append, Damage, Deletion, DiskUse, Event, Head, Idle, Leases, ListPosition, ListQuery,
    Listener, Page, RecordKey, Result, Seq, Snapshot, Store, StoreError, StoreReport, StoredEvent,
    TaskCounts, Watch,
};
use crate::{caller::Caller, metrics::Metrics, write_refusals::WriteRefusals};

/// Wraps a store and counts its operations.
#[derive(Debug)]
pub(crate) struct MeteredStore {
    store: Arc<dyn Store>,
    metrics: Metrics,
    refusals: WriteRefusals,
    /// Whether the store reports the number of open tasks, including those of other processes.
    reports_open_tasks: bool,
}

impl MeteredStore {
    pub(crate) fn new(store: Arc<dyn Store>, metrics: Metrics) -> Self {
        Self {
            reports_open_tasks: reports_open_tasks(&*store),
            store,
            metrics,
            refusals: WriteRefusals::default(),
        }
    }

    /// Counts an error that is a failure of the store itself, such as a full disk.
    fn count_failure<T>(&self, result: Result<T>) -> Result<T> {
        if let Some(kind) = result.as_ref().err().and_then(failure) {
            self.metrics.store_failed(kind);
        }
        result
    }

    /// Counts a failed write, and logs when the store begins and stops refusing writes.
    fn count_write<T>(&self, result: Result<T>) -> Result<T> {
        if let Some(report) = self.refusals.note(&result, Instant::now()) {
            report.log();
        }
        self.count_failure(result)
    }
}

/// Returns whether the store reports the number of open tasks.
pub(crate) fn reports_open_tasks(store: &dyn Store) -> bool {
    let sharing = store.leases().and_then(|leases| leases.sharing());
    sharing.is_some()
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Status { status, .. } if status.state.is_terminal())
}

/// Returns the error's label in metrics, if the store itself has failed.
fn failure(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Corrupt { .. } => Some("corrupt"),
        StoreError::Damaged { .. } => Some("damaged"),
        StoreError::Rebuilding => Some("rebuilding"),
        StoreError::InUse { .. } => Some("in_use"),
        StoreError::Newer { .. } => Some("newer"),
        StoreError::Unfinished { .. } => Some("unfinished"),
        StoreError::Older { .. } => Some("older"),
        StoreError::Full { .. } => Some("full"),
        StoreError::Io { .. } => Some("io"),
        StoreError::Closed => Some("closed"),
        StoreError::Unavailable { .. } => Some("unavailable"),
        StoreError::Unsupported { .. } => Some("unsupported"),
        StoreError::NotFound { .. }
        | StoreError::Conflict { .. }
        | StoreError::Duplicate { .. }
        | StoreError::Taken { .. }
        | StoreError::Open { .. }
        | StoreError::Ended { .. }
        | StoreError::Invalid { .. }
        | StoreError::TooLarge { .. }
        | StoreError::PageToken { .. } => None,
    }
}

#[async_trait]
impl Store for MeteredStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>> {
        let (began, ended) = (append.expected == 0, append.events.iter().any(is_end));
        let begun = Instant::now();
        let span = span(Kind::Internal, || "store append".into());
        let head = self.count_write(self.store.append(caller, append).instrument(span).await)?;
        self.metrics.append(begun.elapsed());
        // Nothing follows a terminal state, so each end is counted once.
        let change = i64::from(began) - i64::from(ended);
        if change != 0 && !self.reports_open_tasks {
            self.metrics.tasks_open(&head.agent).inc_by(change);
        }
        Ok(head)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        self.count_failure(self.store.read(caller, task, after, limit).await)
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        self.count_failure(self.store.head(caller, task).await)
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot> {
        self.count_failure(self.store.task(caller, task).await)
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        self.count_failure(self.store.list(caller, query).await)
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>> {
        self.count_failure(self.store.find_message(caller, agent, message_id).await)
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>> {
        self.count_failure(self.store.find_client_task(caller, agent, client_id).await)
    }

    async fn owner(&self, task: &str) -> Result<Caller> {
        self.count_failure(self.store.owner(task).await)
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        self.count_failure(self.store.open_turns(after, limit).await)
    }

    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        let idle = self.store.idle_tasks(kind, agent, after, until, limit);
        self.count_failure(idle.await)
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        self.count_failure(self.store.counts().await)
    }

    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        // Only a task whose deletion is forced can be counted as open.
        let head = match deletion {
            Deletion::Ended => None,
            Deletion::Forced => self.store.head(caller, task).await.ok(),
        };
        self.count_write(self.store.delete(caller, task, deletion).await)?;
        if let Some(head) = head.filter(|head| !head.state.is_terminal())
            && !self.reports_open_tasks
        {
            self.metrics.tasks_open(&head.agent).dec();
        }
        Ok(())
    }

    async fn maintain(&self) -> Result<bool> {
        self.count_failure(self.store.maintain().await)
    }

    async fn compact_step(&self) -> Result<bool> {
        self.count_failure(self.store.compact_step().await)
    }

    async fn inspect(&self) -> Result<Option<StoreReport>> {
        self.count_failure(self.store.inspect().await)
    }

    async fn disk_use(&self) -> Result<Option<DiskUse>> {
        self.count_failure(self.store.disk_use().await)
    }

    async fn ready(&self) -> Result<()> {
        self.count_write(self.store.ready().await)
    }

    fn damage(&self) -> Damage {
        self.store.damage()
    }

    fn leases(&self) -> Option<Arc<dyn Leases>> {
        self.store.leases()
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch> {
        self.count_failure(self.store.watch(caller, task).await)
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.store.listen(listener);
    }

    async fn put_record(&self, caller: &Caller, key: &RecordKey, value: Vec<u8>) -> Result<()> {
        self.count_write(self.store.put_record(caller, key, value).await)
    }

    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>> {
        self.count_failure(self.store.record(caller, key).await)
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool> {
        self.count_write(self.store.delete_record(caller, key).await)
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        self.count_failure(self.store.records(caller, kind, scope).await)
    }

    async fn have_records(&self, kind: &str, scopes: &[(Caller, String)]) -> Result<Vec<bool>> {
        self.count_failure(self.store.have_records(kind, scopes).await)
    }
}
