//! A store that tells how it does: how long appends take, how often it fails and refuses, how many tasks are open.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::Instant;

use super::{
    Append, Damage, Event, Head, ListQuery, Listener, Page, Position, RecordKey, Seq, Snapshot,
    Store, StoreError, Stored, Watch, refusing::Refusing,
};
use crate::{caller::Caller, metrics::Metrics};

/// A store, and where its doings are counted.
#[derive(Debug)]
pub(crate) struct Measured {
    store: Arc<dyn Store>,
    metrics: Metrics,
    refusing: Refusing,
}

impl Measured {
    pub(crate) fn new(store: Arc<dyn Store>, metrics: Metrics) -> Self {
        Self {
            store,
            metrics,
            refusing: Refusing::default(),
        }
    }

    /// Counts it if it is a failure of the store, not an answer of it.
    fn told<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Some(kind) = result.as_ref().err().and_then(failure) {
            self.metrics.store_failed(kind);
        }
        result
    }

    /// The same of a write.
    fn written<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Some(line) = self.refusing.note(&result, Instant::now()) {
            line.log();
        }
        self.told(result)
    }

    /// Nothing follows a terminal state, so each is told of once.
    fn count(&self, agent: &str, began: bool, ended: bool) {
        if began {
            self.metrics.task_began(agent);
        }
        if ended {
            self.metrics.task_ended(agent);
        }
    }
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Status { status, .. } if status.state.is_terminal())
}

/// What the error is called, if the store itself is in trouble.
fn failure(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Corrupt { .. } => Some("corrupt"),
        StoreError::Damaged { .. } => Some("damaged"),
        StoreError::Rebuilding => Some("rebuilding"),
        StoreError::InUse { .. } => Some("in_use"),
        StoreError::Newer { .. } => Some("newer"),
        StoreError::Older { .. } => Some("older"),
        StoreError::Full { .. } => Some("full"),
        StoreError::Io { .. } => Some("io"),
        StoreError::Closed => Some("closed"),
        StoreError::NotFound { .. }
        | StoreError::Conflict { .. }
        | StoreError::Duplicate { .. }
        | StoreError::Taken { .. }
        | StoreError::Ended { .. }
        | StoreError::Invalid { .. }
        | StoreError::TooLarge { .. }
        | StoreError::PageToken { .. } => None,
    }
}

#[async_trait]
impl Store for Measured {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let (began, ended) = (append.expected == 0, append.events.iter().any(is_end));
        let begun = Instant::now();
        let head = self.written(self.store.append(caller, append).await)?;
        self.metrics.append(begun.elapsed());
        self.count(&head.agent, began, ended);
        Ok(head)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        self.told(self.store.read(caller, task, after, limit).await)
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        self.told(self.store.head(caller, task).await)
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        self.told(self.store.task(caller, task).await)
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        self.told(self.store.list(caller, query).await)
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError> {
        self.told(self.store.find_message(caller, agent, message_id).await)
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        self.told(self.store.find_client_task(caller, agent, client_id).await)
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.told(self.store.open_turns(after, limit).await)
    }

    async fn waiting_tasks(
        &self,
        agent: &str,
        after: Option<&Position>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let waiting = self.store.waiting_tasks(agent, after, until, limit);
        self.told(waiting.await)
    }

    async fn open_counts(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        self.told(self.store.open_counts().await)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.written(self.store.ready().await)
    }

    fn damage(&self) -> Damage {
        self.store.damage()
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        self.told(self.store.watch(caller, task).await)
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
        self.written(self.store.put_record(caller, key, value).await)
    }

    async fn record(
        &self,
        caller: &Caller,
        key: &RecordKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.told(self.store.record(caller, key).await)
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool, StoreError> {
        self.written(self.store.delete_record(caller, key).await)
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.told(self.store.records(caller, kind, scope).await)
    }
}
