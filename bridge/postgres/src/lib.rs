//! Stores tasks in PostgreSQL, where several processes share them.
//!
//! - `address`: the address of the database
//! - `connections`: pools of connections, with a limit for every wait
//! - `servers`: connects to the server that accepts writes
//! - `limited_pool`: limits a pool to the connections that the server allows
//! - `schema`: creates and migrates the tables
//! - `committer`, `batch`: commit waiting appends in one transaction
//! - `leases`: leases of conversations and heartbeats of processes
//! - `changes`: sends notifications of new events to other processes, and receives theirs
//! - `calls`: hands calls from one process to another
//! - `sharing`: statistics of the processes on the database
//! - `reader`: reads tasks and lists
//! - `deletion`: deletes tasks
//! - `export`: reads all tasks and records, for copies and checks
//! - `rows`: the content of rows
//! - `recent`: caches the heads of tasks
//! - `failure`: classifies errors of the database

mod address;
mod batch;
mod calls;
mod changes;
mod committer;
mod connections;
mod deletion;
mod export;
mod failure;
mod leases;
mod limited_pool;
mod reader;
mod recent;
mod rows;
mod schema;
mod servers;
mod sharing;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::task::JoinHandle;

pub use self::address::{AddressError, PostgresSettings};
use self::{
    batch::{PreparedAppend, Refusal},
    calls::Calls,
    changes::Changes,
    committer::CommitQueue,
    connections::Connections,
    leases::Membership,
    recent::RecentHeads,
    sharing::SharingStats,
};
use bridge_store::{
    Append, Damage, Deletion, Feed, Head, Idle, Leases, ListPosition, ListQuery, Listener, Page,
    RecordKey, Result, Seq, Snapshot, Store, StoreError, StoredEvent, TaskCounts, Watch,
    backend::{Cache, Quarantine},
    caller::Caller,
};

/// The approximate size of the cached tasks, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// A store in a PostgreSQL database. Several processes can have it open.
#[derive(Debug)]
pub struct PostgresStore {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

/// The state that the store shares with its background tasks.
#[derive(Debug)]
struct Shared {
    connections: Connections,
    queue: CommitQueue,
    cache: Cache,
    recent: RecentHeads,
    quarantine: Quarantine,
    feed: Feed,
    changes: Changes,
    calls: Calls,
    membership: Membership,
    sharing: SharingStats,
}

impl PostgresStore {
    /// Opens the store, and creates missing tables. It must be called within a tokio runtime.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached, `Unsupported` if the server is too old, `Newer` if a later version
    /// has changed the tables so that this one cannot use them.
    pub async fn open(settings: &PostgresSettings) -> Result<Self> {
        let connections = Connections::new(settings)?;
        let prepared = connections.prepare(&settings.to_string()).await;
        prepared.map_err(|error| failure::at(settings, error))?;
        let membership = Membership::join(&connections, settings.lease).await?;
        let committers = connections.writers();
        let shared = Arc::new(Shared {
            connections,
            queue: CommitQueue::default(),
            cache: Cache::new(CACHE_BYTES),
            recent: RecentHeads::default(),
            quarantine: Quarantine::default(),
            feed: Feed::default(),
            changes: Changes::default(),
            calls: Calls::default(),
            membership,
            sharing: SharingStats::default(),
        });
        shared.update_sharing().await?;
        let own = || Arc::clone(&shared);
        let committers = (0..committers).map(|_| tokio::spawn(committer::run_committer(own())));
        let others = [
            tokio::spawn(changes::send_notifications(own())),
            tokio::spawn(changes::receive_notifications(own())),
            tokio::spawn(leases::send_heartbeats(own())),
            tokio::spawn(leases::clean_up(own())),
            tokio::spawn(sharing::poll_sharing(own())),
        ];
        let tasks = committers.chain(others).collect();
        Ok(Self { shared, tasks })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Shared {
    /// Returns the head of the task with the event that the append expects as the last one, or else the newest head.
    async fn head_before(&self, caller: &Caller, append: &Append) -> Result<Option<Arc<Head>>> {
        if append.expected == 0 {
            return Ok(None);
        }
        let Append { task, expected, .. } = append;
        match self.recent.get(task, *expected) {
            Some(head) => Ok(Some(head)),
            None => self.head(caller, task).await.map(Some),
        }
    }

    /// Returns the error for a refused append. If the cause no longer exists, it is a conflict, and the writer decides again.
    async fn refusal_error(
        &self,
        refusal: Refusal,
        head: &Head,
        append: AppendSummary,
    ) -> Result<StoreError> {
        let Head { owner, agent, .. } = head;
        let actual = match refusal {
            Refusal::Failed(error) => return Ok(error),
            Refusal::MessageUsed => {
                for message_id in append.message_ids {
                    if let Some((task, seq)) = self.message(owner, agent, &message_id).await? {
                        return Ok(StoreError::Duplicate { message_id, task, seq });
                    }
                }
                append.expected
            }
            Refusal::Conflict => match self.head(owner, &head.task).await {
                Ok(newest) => newest.seq,
                Err(StoreError::NotFound { .. }) if append.expected == 0 => {
                    if let Some(client_id) = &head.client_id
                        && let Some(task) = self.client_task(owner, agent, client_id).await?
                    {
                        let client_id = client_id.clone();
                        return Ok(StoreError::Taken { client_id, task });
                    }
                    // A task of another caller has this id, or the cause no longer exists.
                    return Ok(StoreError::not_found(&head.task));
                }
                Err(error) => return Err(error),
            },
        };
        Ok(StoreError::Conflict { task: head.task.clone(), expected: append.expected, actual })
    }
}

/// The data of an append that are needed if it is refused.
struct AppendSummary {
    expected: Seq,
    message_ids: Vec<String>,
}

#[async_trait]
impl Store for PostgresStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>> {
        let append = append.checked()?;
        if !rows::is_storable(&append.task) {
            return Err(append.invalid("its id has a null character"));
        }
        let shared = &self.shared;
        let before = shared.head_before(caller, &append).await?;
        let head = Arc::new(Head::after(before.as_deref(), caller, &append)?);
        let summary = AppendSummary {
            expected: append.expected,
            message_ids: append.message_ids().map(|(id, _)| id.to_owned()).collect(),
        };
        let prepared = PreparedAppend::new(before.as_deref(), Arc::clone(&head), append)?;
        match shared.queue.commit(prepared).await {
            Ok(()) => Ok(head),
            Err(refusal) => {
                shared.recent.forget(&head.task);
                Err(shared.refusal_error(refusal, &head, summary).await?)
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
        self.shared.read(caller, task, after, limit).await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        self.shared.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot> {
        let head = self.shared.head(caller, task).await?;
        self.shared.snapshot(&head).await
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        self.shared.list(caller, query).await
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>> {
        self.shared.message(caller, agent, message_id).await
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>> {
        self.shared.client_task(caller, agent, client_id).await
    }

    async fn owner(&self, task: &str) -> Result<Caller> {
        self.shared.owner(task).await
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        self.shared.open_turns(after, limit).await
    }

    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        self.shared.idle_tasks(kind, agent, after, until, limit).await
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        self.shared.counts().await
    }

    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        self.shared.delete(caller, task, deletion).await
    }

    async fn ready(&self) -> Result<()> {
        self.shared.ready().await
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
            [&key.id, &caller.id, &key.kind, &key.scope].map(|name| name.as_bytes());
        let own = self.shared.membership.replica;
        let connections = &self.shared.connections;
        let values: connections::Values<'_> =
            &[&scope, &record, &id, &value, &owner, &kind, &within, &own];
        match connections.write_idempotent(put, values).await?.is_empty() {
            false => Ok(()),
            true => Err(failure::taken_for_dead()),
        }
    }

    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>> {
        let (scope, record) = rows::record_keys(caller, key);
        let get = "SELECT value FROM bridge.records WHERE scope = $1 AND key = $2";
        let values: connections::Values<'_> = &[&scope, &record];
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
        let values: connections::Values<'_> = &[&scope, &record, &own];
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
        let record = |row: &tokio_postgres::Row| {
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
