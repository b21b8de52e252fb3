//! The operations of the store.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    batch::{PreparedAppend, Refusal},
    connections::Values,
    failure::{self, Failure, unavailable},
    reader::SELECT_EVENTS,
    rows::{self, signed, unsigned},
};
use bridge_store::{
    Append, Damage, Deletion, EndedTasks, Head, Idle, Leases, ListPosition, ListQuery, Listener,
    Page, RecordKey, Result, Seq, Snapshot, Store, StoreError, StoredEvent, TaskCounts, Watch,
    backend::PageBuilder, caller::Caller,
};

/// The number of attempts to delete a task if others append to it meanwhile, or connections are lost.
const DELETE_ATTEMPTS: usize = 16;

const SELECT_PAGE: &str = "SELECT task, status_time, head FROM bridge.tasks
    WHERE list = $1 AND ($2::bytea IS NULL OR context = $2) AND ($3::text IS NULL OR state = $3)
        AND status_time >= $4 AND status_time <= $5 AND (status_time < $5 OR task > $6)
    ORDER BY status_time DESC, task LIMIT $7";

const COUNT_ALL: &str = "SELECT coalesce(sum(tasks), 0)::bigint FROM bridge.lists WHERE list = $1";

const COUNT_FILTERED: &str = "SELECT count(*) FROM bridge.tasks
    WHERE list = $1 AND ($2::bytea IS NULL OR context = $2) AND ($3::text IS NULL OR state = $3)
        AND status_time >= $4";

#[async_trait]
impl Store for PostgresStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>> {
        let append = append.checked()?;
        if !rows::is_storable(&append.task) {
            return Err(append.invalid("its id has a null character"));
        }
        let shared = &self.shared;
        let Append { task, expected, .. } = &append;
        let before = match (expected, shared.recent.get(task, *expected)) {
            (0, _) => None,
            (_, Some(head)) => Some(head),
            (_, None) => Some(shared.head(caller, task).await?),
        };
        let head = Arc::new(Head::after(before.as_deref(), caller, &append)?);
        let (expected, messages) = (append.expected, append.message_ids());
        let messages = messages.map(|(id, _)| id.to_owned()).collect();
        let prepared = PreparedAppend::new(before.as_deref(), Arc::clone(&head), append)?;
        match shared.queue.commit(prepared).await {
            Ok(()) => Ok(head),
            Err(refusal) => {
                shared.recent.forget(&head.task);
                Err(self.refusal_error(refusal, &head, expected, messages).await?)
            }
        }
    }

    async fn read(
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
                    self.shared.connections.read(SELECT_EVENTS, values).await
                }
                false => Ok(Vec::new()),
            }
        };
        let (head, found) = tokio::join!(self.shared.head(caller, task), events);
        head?;
        let mut events = Vec::new();
        for row in &found? {
            let stored = rows::read_events(task, row)
                .inspect_err(|error| self.shared.quarantine_damaged(error))?;
            events.extend(stored.filter(|stored| stored.seq > after));
            if events.len() >= limit {
                break;
            }
        }
        events.truncate(limit);
        Ok(events)
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        self.shared.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot> {
        let head = self.shared.head(caller, task).await?;
        self.shared.snapshot(&head).await
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        let list = rows::list_key(caller, &query.agent);
        let from = self.shared.start(&list, query).await?;
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
        let page = self.shared.connections.read(SELECT_PAGE, values);
        let total = async {
            if let Some(total) = query.known_total {
                return Ok(i64::try_from(total).unwrap_or(i64::MAX));
            }
            let total = match query.is_filtered() {
                true => {
                    let values: Values<'_> = &[&list, &context, &state, &since];
                    self.shared.connections.read(COUNT_FILTERED, values).await?
                }
                false => self.shared.connections.read(COUNT_ALL, &[&list]).await?,
            };
            Ok(total.first().map_or(0, |row| row.get::<_, i64>(0)))
        };
        let (found, total): (_, Result<i64>) = tokio::join!(page, total);
        let found = found?;
        let position = |row: &Row| ListPosition { millis: row.get(1), task: row.get(0) };
        let mut page = PageBuilder::new(query, found.iter().map(position).collect());
        for row in &found {
            let Some(position) = page.next_position() else { break };
            let snapshot = match self.shared.intact(&position.task, row.get(2)) {
                Some(head) => match self.shared.snapshot(&head).await {
                    Ok(snapshot) => Some(snapshot),
                    // Damaged tasks and tasks that were deleted meanwhile are left out.
                    Err(StoreError::Damaged { .. } | StoreError::NotFound { .. }) => None,
                    Err(error) => return Err(error),
                },
                None => None,
            };
            page.add(position, snapshot);
        }
        Ok(page.finish(usize::try_from(total?).unwrap_or_default()))
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>> {
        let key = rows::message_key(caller, agent, message_id);
        let select = "SELECT task, seq FROM bridge.messages WHERE key = $1";
        let found = self.shared.connections.read(select, &[&key]).await?;
        let place = |row: &Row| (row.get(0), unsigned(row.get(1)));
        Ok(found.first().map(place))
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>> {
        let key = rows::client_key(caller, agent, client_id);
        let select = "SELECT task FROM bridge.tasks WHERE client = $1";
        let found = self.shared.connections.read(select, &[&key]).await?;
        Ok(found.first().map(|row| row.get(0)))
    }

    async fn owner(&self, task: &str) -> Result<Caller> {
        if !rows::is_storable(task) {
            return Err(StoreError::not_found(task));
        }
        let select = "SELECT head FROM bridge.tasks WHERE task = $1";
        let found = self.shared.connections.read(select, &[&task]).await?;
        let row = found.first().ok_or_else(|| StoreError::not_found(task))?;
        Ok(self.shared.read_head(task, row.get(0))?.owner)
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        let select = "SELECT task, head FROM bridge.tasks
            WHERE has_turns AND task > $1 ORDER BY task LIMIT $2";
        let (mut heads, mut after) = (Vec::new(), after.to_owned());
        loop {
            let rows = i64::try_from(limit - heads.len()).unwrap_or(i64::MAX);
            let found = self.shared.connections.read(select, &[&after, &rows]).await?;
            heads.extend(self.shared.intact_heads(&found));
            match found.last() {
                // Damaged tasks must not make a page shorter, which would look like the end.
                Some(last) if signed(found.len() as Seq) == rows && heads.len() < limit => {
                    after = last.get(0);
                }
                Some(_) | None => return Ok(heads),
            }
        }
    }

    async fn idle_tasks(
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
            let found = self.shared.connections.read(select, values).await?;
            heads.extend(self.shared.intact_heads(&found));
            match found.last() {
                Some(last) if signed(found.len() as Seq) == rows && heads.len() < limit => {
                    (task, millis) = (last.get(0), last.get(2));
                }
                Some(_) | None => return Ok(heads),
            }
        }
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        let select =
            "SELECT agent, sum(unfinished)::bigint, sum(ended)::bigint, sum(ended_bytes)::bigint
            FROM bridge.agents GROUP BY agent HAVING sum(unfinished) > 0 OR sum(ended) > 0";
        let found = self.shared.connections.read(select, &[]).await?;
        let counts = |row: &Row| {
            let count = |column| usize::try_from(row.get::<_, i64>(column)).unwrap_or_default();
            let bytes = u64::try_from(row.get::<_, i64>(3)).unwrap_or_default();
            let ended = EndedTasks { tasks: count(2), bytes };
            (row.get(0), TaskCounts { open: count(1), ended })
        };
        Ok(found.iter().map(counts).collect())
    }

    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        let shared = &self.shared;
        let mut may_be_deleted = false;
        for _ in 0..DELETE_ATTEMPTS {
            let row = match shared.own_row(caller, task).await {
                // An earlier attempt, whose result was lost, has deleted the task.
                Err(StoreError::NotFound { .. }) if may_be_deleted => break,
                row => row?,
            };
            match (rows::read_head(task, row.get(3)), deletion) {
                (Ok(head), _) => deletion.check(&head)?,
                (Err(error), Deletion::Ended) => return Err(error),
                (Err(_), Deletion::Forced) => {}
            }
            let delete = "SELECT bridge.delete_1($1, $2)";
            let values: Values<'_> = &[&task, &row.get::<_, i64>(2)];
            match shared.connections.write(delete, values).await {
                Ok(rows) if rows.first().is_some_and(|row| row.get(0)) => break,
                Ok(_) | Err(Failure::RolledBack) => {}
                Err(Failure::Unknown(_)) => may_be_deleted = true,
                Err(Failure::Refused(error)) => return Err(error),
            }
        }
        if shared.exists(task).await? {
            return Err(unavailable("the task could not be deleted"));
        }
        shared.forget(task);
        shared.changes.add_deleted(task);
        Ok(())
    }

    async fn ready(&self) -> Result<()> {
        let only_reads = "SELECT current_setting('transaction_read_only') = 'on'";
        let answer = self.shared.connections.read(only_reads, &[]).await?;
        match answer.first().map(|row| row.get(0)) {
            Some(false) => self.shared.queue.check(),
            Some(true) | None => Err(unavailable("the server only reads")),
        }
    }

    fn damage(&self) -> Damage {
        Damage { tasks: self.shared.quarantine.count(), bytes: 0 }
    }

    fn leases(&self) -> Option<Arc<dyn Leases>> {
        let leases: Arc<dyn Leases> = Arc::clone(&self.shared) as _;
        Some(leases)
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch> {
        let watch = self.shared.feed.watch(task);
        let head = self.shared.head(caller, task).await?;
        Ok(watch.with_head(&head))
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.shared.feed.listen(listener);
    }

    async fn put_record(&self, caller: &Caller, key: &RecordKey, value: Vec<u8>) -> Result<()> {
        key.check(&value)?;
        let (scope, record) = rows::record_keys(caller, key);
        let put = "INSERT INTO bridge.records (scope, key, id, value, owner, kind, within)
            SELECT $1, $2, $3, $4, $5, $6, $7 FROM bridge.replicas WHERE id = $8
            ON CONFLICT (scope, key) DO UPDATE
            SET value = excluded.value, owner = excluded.owner, kind = excluded.kind, within = excluded.within
            RETURNING true";
        let [id, owner, kind, within] =
            [&*key.id, &*caller.id, &*key.kind, &*key.scope].map(str::as_bytes);
        let own = self.shared.membership.replica;
        let connections = &self.shared.connections;
        let values: Values<'_> = &[&scope, &record, &id, &value, &owner, &kind, &within, &own];
        match connections.write_idempotent(put, values).await?.is_empty() {
            false => Ok(()),
            true => Err(failure::taken_for_dead()),
        }
    }

    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>> {
        let (scope, record) = rows::record_keys(caller, key);
        let get = "SELECT value FROM bridge.records WHERE scope = $1 AND key = $2";
        let values: Values<'_> = &[&scope, &record];
        let rows = self.shared.connections.read(get, values).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool> {
        let (scope, record) = rows::record_keys(caller, key);
        let delete = "WITH own AS (SELECT id FROM bridge.replicas WHERE id = $3), gone AS (
                DELETE FROM bridge.records WHERE scope = $1 AND key = $2 AND EXISTS (SELECT FROM own) RETURNING key
            ) SELECT EXISTS (SELECT FROM gone) FROM own";
        let own = self.shared.membership.replica;
        let connections = &self.shared.connections;
        let values: Values<'_> = &[&scope, &record, &own];
        let rows = connections.write_idempotent(delete, values).await?;
        let row = rows.first().ok_or_else(failure::taken_for_dead)?;
        Ok(row.get(0))
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let scope = rows::scope_key(caller, kind, scope);
        let all = "SELECT id, value FROM bridge.records WHERE scope = $1 ORDER BY id";
        let rows = self.shared.connections.read(all, &[&scope]).await?;
        let record = |row: &Row| {
            let id = String::from_utf8_lossy(row.get(0)).into_owned();
            (id, row.get(1))
        };
        Ok(rows.iter().map(record).collect())
    }

    async fn have_records(&self, kind: &str, scopes: &[(Caller, String)]) -> Result<Vec<bool>> {
        let key = |(caller, scope): &(Caller, String)| rows::scope_key(caller, kind, scope);
        let scopes: Vec<rows::Key> = scopes.iter().map(key).collect();
        let some = "SELECT DISTINCT scope FROM bridge.records WHERE scope = ANY($1)";
        let rows = self.shared.connections.read(some, &[&scopes]).await?;
        let found: Vec<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
        Ok(scopes.iter().map(|scope| found.contains(&scope.as_ref())).collect())
    }
}

impl PostgresStore {
    /// Returns the error for a refused append that led to `head`. If the cause no longer exists, it is a conflict, and the
    /// writer decides again.
    async fn refusal_error(
        &self,
        refusal: Refusal,
        head: &Head,
        expected: Seq,
        messages: Vec<String>,
    ) -> Result<StoreError> {
        let Head { task, owner, agent, .. } = head;
        let actual = match refusal {
            Refusal::Failed(error) => return Ok(error),
            Refusal::MessageUsed => {
                for message_id in messages {
                    if let Some((task, seq)) = self.find_message(owner, agent, &message_id).await? {
                        return Ok(StoreError::Duplicate { message_id, task, seq });
                    }
                }
                expected
            }
            Refusal::Conflict => match self.head(owner, task).await {
                Ok(newest) => newest.seq,
                Err(StoreError::NotFound { .. }) if expected == 0 => {
                    if let Some(client_id) = &head.client_id
                        && let Some(task) = self.find_client_task(owner, agent, client_id).await?
                    {
                        let client_id = client_id.to_string();
                        return Ok(StoreError::Taken { client_id, task });
                    }
                    // A task of another caller has this id, or the cause no longer exists.
                    return Ok(StoreError::not_found(task));
                }
                Err(error) => return Err(error),
            },
        };
        Ok(StoreError::Conflict { task: task.to_string(), expected, actual })
    }
}
