//! Reads tasks and lists.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use tokio_postgres::Row;

use crate::{
    Shared,
    connections::Values,
    failure::unavailable,
    rows::{self, damaged, signed, unsigned},
};
use bridge_store::{
    EndedTasks, Head, Idle, ListPosition, ListQuery, Page, Result, Seq, Snapshot, StoreError,
    StoredEvent, TaskCounts,
    backend::{CachedTask, PageBuilder, cut_page},
    caller::Caller,
};

/// The number of rows that are read at a time to compute a task.
const PAGE_ROWS: i64 = 256;

const SELECT_EVENTS: &str = "SELECT first, time, format, body, last FROM bridge.events
    WHERE task = $1 AND last > $2 ORDER BY last LIMIT $3";

const SELECT_PAGE: &str = "SELECT task, status_time, head FROM bridge.tasks
    WHERE list = $1 AND ($2::bytea IS NULL OR context = $2) AND ($3::text IS NULL OR state = $3)
        AND status_time >= $4 AND status_time <= $5 AND (status_time < $5 OR task > $6)
    ORDER BY status_time DESC, task LIMIT $7";

const COUNT_ALL: &str = "SELECT coalesce(sum(tasks), 0)::bigint FROM bridge.lists WHERE list = $1";

const COUNT_FILTERED: &str = "SELECT count(*) FROM bridge.tasks
    WHERE list = $1 AND ($2::bytea IS NULL OR context = $2) AND ($3::text IS NULL OR state = $3)
        AND status_time >= $4";

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

    pub(super) async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        // Head and events are requested at the same time.
        let max_rows = i64::try_from(limit).unwrap_or(i64::MAX);
        let events = async {
            match rows::is_storable(task) {
                true => {
                    let after = signed(after);
                    let values: Values<'_> = &[&task, &after, &max_rows];
                    self.connections.read(SELECT_EVENTS, values).await
                }
                false => Ok(Vec::new()),
            }
        };
        let (head, found) = tokio::join!(self.head(caller, task), events);
        head?;
        let mut events = Vec::new();
        for row in &found? {
            let stored =
                rows::read_events(task, row).inspect_err(|error| self.quarantine_damaged(error))?;
            events.extend(stored.filter(|stored| stored.seq > after));
            if events.len() >= limit {
                break;
            }
        }
        events.truncate(limit);
        Ok(events)
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
            let values: Values<'_> = &[task, &after, &PAGE_ROWS];
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

    /// Returns the error for a task that has fewer events than its head says, or that was deleted meanwhile.
    pub(super) async fn missing_events(&self, task: &str) -> StoreError {
        match self.exists(task).await {
            Ok(true) => damaged(task, "events are missing"),
            Ok(false) => StoreError::not_found(task),
            Err(error) => error,
        }
    }

    pub(super) async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        let list = rows::list_key(caller, &query.agent);
        let from = self.start(&list, query).await?;
        let context = query.context_id.as_deref().map(rows::context_key);
        let state = query.state.as_ref();
        let state = state.map(|state| rows::storable(state.as_str()));
        let since = query.after.map_or(i64::MIN, Timestamp::as_millisecond);
        let (until, task) = match &from {
            Some(position) => (position.millis, position.task.as_str()),
            None => (i64::MAX, ""),
        };
        let max_rows = i64::try_from(query.page_size.saturating_add(1)).unwrap_or(i64::MAX);
        let values: Values<'_> = &[&list, &context, &state, &since, &until, &task, &max_rows];
        let page = self.connections.read(SELECT_PAGE, values);
        let total = async {
            if let Some(total) = query.known_total {
                return Ok(i64::try_from(total).unwrap_or(i64::MAX));
            }
            let total = match query.is_filtered() {
                true => {
                    let values: Values<'_> = &[&list, &context, &state, &since];
                    self.connections.read(COUNT_FILTERED, values).await?
                }
                false => self.connections.read(COUNT_ALL, &[&list]).await?,
            };
            Ok(total.first().map_or(0, |row| row.get::<_, i64>(0)))
        };
        let (found, total): (_, Result<i64>) = tokio::join!(page, total);
        let found = found?;
        let (tasks, next) = self.fill(query, &found).await?;
        let total = usize::try_from(total?).unwrap_or_default();
        Ok(Page { tasks, next, total })
    }

    /// Loads the tasks of a page, without damaged and deleted tasks. Returns them and the token of the next page.
    async fn fill(&self, query: &ListQuery, found: &[Row]) -> Result<(Vec<Snapshot>, String)> {
        let position = |row: &Row| ListPosition { millis: row.get(1), task: row.get(0) };
        let (positions, next) = cut_page(found.iter().map(position).collect(), query.page_size);
        let mut page = PageBuilder::new(query);
        for (position, row) in positions.into_iter().zip(found) {
            let snapshot = match self.intact(&position.task, row.get(2)) {
                Some(head) => Some(self.snapshot(&head).await),
                None => None,
            };
            let snapshot = match snapshot {
                Some(Ok(snapshot)) => Some(query.select(snapshot)),
                Some(Err(StoreError::Damaged { .. } | StoreError::NotFound { .. })) | None => None,
                Some(Err(error)) => return Err(error),
            };
            if let Some(next) = page.add(position, snapshot) {
                return Ok((page.tasks, next));
            }
        }
        Ok((page.tasks, next))
    }

    /// Returns the position after which the page begins, and checks that its task is in this list.
    async fn start(&self, list: &rows::Key, query: &ListQuery) -> Result<Option<ListPosition>> {
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

    pub(super) async fn message(
        &self,
        caller: &Caller,
        agent: &str,
        id: &str,
    ) -> Result<Option<(String, Seq)>> {
        let key = rows::message_key(caller, agent, id);
        let select = "SELECT task, seq FROM bridge.messages WHERE key = $1";
        let found = self.connections.read(select, &[&key]).await?;
        let place = |row: &Row| (row.get(0), unsigned(row.get(1)));
        Ok(found.first().map(place))
    }

    pub(super) async fn client_task(
        &self,
        caller: &Caller,
        agent: &str,
        id: &str,
    ) -> Result<Option<String>> {
        let key = rows::client_key(caller, agent, id);
        let select = "SELECT task FROM bridge.tasks WHERE client = $1";
        let found = self.connections.read(select, &[&key]).await?;
        Ok(found.first().map(|row| row.get(0)))
    }

    pub(super) async fn owner(&self, task: &str) -> Result<Caller> {
        let select = "SELECT head FROM bridge.tasks WHERE task = $1";
        let found = self.connections.read(select, &[&task]).await?;
        let row = found.first().ok_or_else(|| StoreError::not_found(task))?;
        Ok(self.read_head(task, row.get(0))?.owner)
    }

    pub(super) async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        let select = "SELECT task, head FROM bridge.tasks
            WHERE has_turns AND task > $1 ORDER BY task LIMIT $2";
        let (mut heads, mut after) = (Vec::new(), after.to_owned());
        loop {
            let rows = i64::try_from(limit - heads.len()).unwrap_or(i64::MAX);
            let found = self.connections.read(select, &[&after, &rows]).await?;
            heads.extend(self.intact_heads(&found));
            match found.last() {
                // Damaged tasks must not make a page shorter, which would look like the end.
                Some(last) if signed_len(&found) == rows && heads.len() < limit => {
                    after = last.get(0);
                }
                Some(_) | None => return Ok(heads),
            }
        }
    }

    pub(super) async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        let select = match kind {
            Idle::Waiting => {
                "SELECT task, head, status_time FROM bridge.tasks
                WHERE agent = $1 AND waits AND (status_time, task) > ($2, $3) AND status_time <= $4
                ORDER BY status_time, task LIMIT $5"
            }
            Idle::Ended => {
                "SELECT task, head, status_time FROM bridge.tasks
                WHERE agent = $1 AND NOT is_open AND (status_time, task) > ($2, $3) AND status_time <= $4
                ORDER BY status_time, task LIMIT $5"
            }
        };
        let after = after.map(|after| (after.millis, after.task.clone()));
        let (mut millis, mut task) = after.unwrap_or((i64::MIN, String::new()));
        let (agent, until) = (rows::storable(agent), until.as_millisecond());
        let mut heads = Vec::new();
        loop {
            let rows = i64::try_from(limit - heads.len()).unwrap_or(i64::MAX);
            let values: Values<'_> = &[&agent, &millis, &task, &until, &rows];
            let found = self.connections.read(select, values).await?;
            heads.extend(self.intact_heads(&found));
            match found.last() {
                Some(last) if signed_len(&found) == rows && heads.len() < limit => {
                    (task, millis) = (last.get(0), last.get(2));
                }
                Some(_) | None => return Ok(heads),
            }
        }
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
    fn read_head(&self, task: &str, json: &[u8]) -> Result<Head> {
        rows::read_head(task, json).inspect_err(|error| self.quarantine_damaged(error))
    }

    /// Quarantines the task if the error says that it is damaged.
    fn quarantine_damaged(&self, error: &StoreError) {
        if let StoreError::Damaged { task, reason } = error {
            self.quarantine.add(task, reason);
        }
    }

    pub(super) async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        let select =
            "SELECT agent, sum(unfinished)::bigint, sum(ended)::bigint, sum(ended_bytes)::bigint
            FROM bridge.agents GROUP BY agent HAVING sum(unfinished) > 0 OR sum(ended) > 0";
        let found = self.connections.read(select, &[]).await?;
        let counts = |row: &Row| {
            let count = |column| usize::try_from(row.get::<_, i64>(column)).unwrap_or_default();
            let bytes = u64::try_from(row.get::<_, i64>(3)).unwrap_or_default();
            let ended = EndedTasks { tasks: count(2), bytes };
            (row.get(0), TaskCounts { open: count(1), ended })
        };
        Ok(found.iter().map(counts).collect())
    }

    pub(super) async fn ready(&self) -> Result<()> {
        let only_reads = "SELECT current_setting('transaction_read_only') = 'on'";
        let answer = self.connections.read(only_reads, &[]).await?;
        match answer.first().map(|row| row.get(0)) {
            Some(false) => self.queue.check(),
            Some(true) | None => Err(unavailable("the server only reads")),
        }
    }
}

fn signed_len(rows: &[Row]) -> i64 {
    i64::try_from(rows.len()).unwrap_or(i64::MAX)
}
