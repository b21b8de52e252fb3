//! Reads tasks, and the pages of lists.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::{
    Shared,
    connections::Values,
    rows::{self, damaged, signed, unsigned},
};
use bridge_store::{
    Head, ListPosition, ListQuery, Result, Snapshot, StoreError, backend::CachedTask,
    caller::Caller,
};

/// The number of rows that are read at a time to compute a task.
const PAGE_ROWS: i64 = 256;

pub(super) const SELECT_EVENTS: &str = "SELECT first, time, format, body, last FROM bridge.events
    WHERE task = $1 AND last > $2 ORDER BY last LIMIT $3";

impl Shared {
    pub(super) async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        let row = self.own_row(caller, task).await?;
        self.read_head(task, row.get(3)).map(Arc::new)
    }

    /// Returns the row of a task of this caller, also of a damaged one, with the columns `agent`, `list`, `seq` and `head`.
    pub(super) async fn own_row(&self, caller: &Caller, task: &str) -> Result<Row> {
        if !rows::is_storable(task) {
            return Err(StoreError::not_found(task));
        }
        let select = "SELECT agent, list, seq, head FROM bridge.tasks WHERE task = $1";
        let found = self.connections.read(select, &[&task]).await?;
        let is_own = |row: &Row| rows::list_key(caller, row.get(0)) == row.get::<_, &[u8]>(1);
        found.into_iter().find(is_own).ok_or_else(|| StoreError::not_found(task))
    }

    /// Returns the task after exactly the last event of this head.
    pub(super) async fn snapshot(&self, head: &Head) -> Result<Snapshot> {
        let found = self.find_snapshot(head).await;
        found.inspect_err(|error| self.quarantine_damaged(error))
    }

    async fn find_snapshot(&self, head: &Head) -> Result<Snapshot> {
        let Head { task, seq, .. } = head;
        if let Some(snapshot) = self.cache.get(task, *seq) {
            return Ok(snapshot);
        }
        let known = self.cache.take(task, *seq);
        let mut cached = known.unwrap_or_else(|| CachedTask::empty(head));
        while cached.snapshot.seq < *seq {
            let after = signed(cached.snapshot.seq);
            let values: Values<'_> = &[&&**task, &after, &PAGE_ROWS];
            let found = self.connections.read(SELECT_EVENTS, values).await?;
            for row in &found {
                let last: i64 = row.get(4);
                if unsigned(last) > *seq {
                    break;
                }
                for stored in rows::read_events(task, row)? {
                    cached.add(stored);
                }
            }
            if signed(cached.snapshot.seq) == after {
                return Err(self.missing_events(task).await);
            }
        }
        let snapshot = cached.snapshot.clone();
        self.cache.put(task, cached);
        Ok(snapshot)
    }

    /// Removes a task that this or another process has deleted from all caches, and ends its watchers.
    pub(super) fn forget(&self, task: &str) {
        self.recent.forget(task);
        self.quarantine.remove(task);
        self.cache.forget(task);
        self.feed.end(task);
    }

    pub(super) async fn exists(&self, task: &str) -> Result<bool> {
        let select = "SELECT true FROM bridge.tasks WHERE task = $1";
        Ok(!self.connections.read(select, &[&task]).await?.is_empty())
    }

    /// Returns the error for a task that has fewer events than its head says, or that was deleted meanwhile.
    pub(super) async fn missing_events(&self, task: &str) -> StoreError {
        match self.exists(task).await {
            Ok(true) => damaged(task, "events are missing"),
            Ok(false) => StoreError::not_found(task),
            Err(error) => error,
        }
    }

    /// Returns the position after which the page begins, and checks that its task is in this list.
    pub(super) async fn start(
        &self,
        list: &rows::Key,
        query: &ListQuery,
    ) -> Result<Option<ListPosition>> {
        let Some(position) = query.position()? else {
            return Ok(None);
        };
        let own = "SELECT true FROM bridge.tasks WHERE task = $1 AND list = $2";
        let is_own = match rows::is_storable(&position.task) {
            true => {
                let values: Values<'_> = &[&position.task, list];
                !self.connections.read(own, values).await?.is_empty()
            }
            false => false,
        };
        query.start(|_| Ok(is_own))
    }

    /// Returns the heads in rows with the columns `task` and `head`, without damaged tasks.
    pub(super) fn intact_heads(&self, found: &[Row]) -> Vec<Head> {
        let head = |row: &Row| self.intact(row.get(0), row.get(1));
        found.iter().filter_map(head).collect()
    }

    /// Reads a head; `None` if it is damaged.
    pub(super) fn intact(&self, task: &str, json: &[u8]) -> Option<Head> {
        self.read_head(task, json).ok()
    }

    /// Reads a head. A task whose head is damaged is quarantined.
    pub(super) fn read_head(&self, task: &str, json: &[u8]) -> Result<Head> {
        rows::read_head(task, json).inspect_err(|error| self.quarantine_damaged(error))
    }

    /// Quarantines the task if the error says that it is damaged.
    pub(super) fn quarantine_damaged(&self, error: &StoreError) {
        if let StoreError::Damaged { task, reason } = error {
            self.quarantine.add(task, reason);
        }
    }
}
