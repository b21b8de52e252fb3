//! Stores tasks on the disk. This is the default store. All data are in a log with its own file format. An index in a sled
//! database has their offsets in the log; it is written later and can be rebuilt.
//!
//! One process at a time has the store open, and one of its threads writes. Readers only see durable data. The memory
//! consists of the caches of [`SledSettings`], the newest entries of the index (of a hundred thousand appends), and the
//! index's filters, which grow with the number of tasks (two bytes per entry, four entries per task).
//!
//! - `open`, `catch_up`: locks, formats, the start after a crash, and the rebuilding of a lost or failed index
//! - `log`: the files, frames and checksums
//! - `codec`, `keys`: the content of the log and of the index
//! - `index`: entries in memory and in sled
//! - `draft`, `committer`, `commit_queue`: batches, their changes of the index, and the thread that commits them
//! - `reader`, `cached_reader`: reading
//! - `compaction`: frees disk space
//! - `backup`: copies the folder
//! - `export`: reads all tasks and records, and checks them

mod backup;
mod cached_reader;
mod catch_up;
mod codec;
mod commit_queue;
mod committer;
mod compaction;
mod draft;
mod export;
mod index;
mod index_folder;
#[cfg(test)]
mod interleavings;
mod keys;
mod latest_append;
mod log;
#[cfg(test)]
mod model;
mod open;
mod reader;
mod reader_threads;
#[cfg(any(test, feature = "testing"))]
mod test_rng;
#[cfg(test)]
mod tests;

pub use backup::copy_store;
#[cfg(any(test, feature = "testing"))]
pub use log::{Faults, Flaw, Gate, SimulatedDisk};
pub use open::SledSettings;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    // `commit_queue` refers to `super::thread` and `super::channels`, which are others when `interleavings` compiles it.
    thread,
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync as channels;

use self::{
    cached_reader::CachedReader,
    catch_up::Rebuilder,
    committer::{Committer, Publisher},
    compaction::{Compaction, CompactionGoal},
    draft::PreparedAppend,
    reader::Reader,
};
use super::{
    Append, Damage, Deletion, DiskUse, Event, Head, Idle, ListPosition, ListQuery, Listener, Page,
    RecordKey, Result, Seq, Snapshot, Store, StoreError, StoreReport, StoredEvent, TaskCounts,
    Unordered, Watch, cache::Cache, feed::Feed,
};
use crate::caller::Caller;

/// The largest size of the events of one append, in bytes.
const MAX_APPEND_BYTES: usize = 64 << 20;
/// The largest size of a small record's key, in bytes.
const MAX_KEY_BYTES: usize = 16 << 10;

/// A store in a folder.
#[derive(Debug)]
pub struct SledStore {
    // The fields are dropped in this order: the committer ends, then the index is closed, and then the folder is unlocked.
    committer: Committer,
    reader: CachedReader,
    compaction: Compaction,
}

impl SledStore {
    /// Opens the store in a folder or creates it. It blocks until the index is up to date, and waits up to a second for
    /// another process to unlock the folder.
    ///
    /// # Errors
    /// `InUse`, `Older`, `Newer`, `Corrupt`, `Io`, `Full`.
    pub fn open(settings: &SledSettings) -> Result<Self> {
        Self::open_on(settings, &(Arc::new(log::RealDisk::default()) as _))
    }

    /// Opens the store with the log on a given disk.
    fn open_on(settings: &SledSettings, disk: &Arc<dyn log::Disk>) -> Result<Self> {
        let (reader, log) = open::open(settings, disk)?;
        let publisher = Publisher {
            cache: Arc::new(Cache::new(settings.task_cache)),
            feed: Arc::new(Feed::default()),
        };
        let rebuilder = Rebuilder(settings.clone());
        Ok(Self {
            committer: Committer::start(reader.clone(), log, rebuilder)?,
            reader: CachedReader::new(reader, publisher)?,
            compaction: Compaction::default(),
        })
    }

    /// Opens the store with the log on a simulated disk.
    ///
    /// # Errors
    /// As [`SledStore::open`].
    #[cfg(any(test, feature = "testing"))]
    pub fn open_simulated(settings: &SledSettings, disk: &SimulatedDisk) -> Result<Self> {
        Self::open_on(settings, &(Arc::new(disk.clone()) as _))
    }

    /// Reads the whole store and reports damaged data. It blocks meanwhile.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    pub fn check(&self) -> Result<StoreReport> {
        export::check(&self.reader.disk)
    }

    /// Frees the disk space of deleted tasks and replaced records, as far as whole files can be removed. `continues` is
    /// called before each step and returns whether to continue.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub async fn compact(&self, mut continues: impl FnMut() -> bool) -> Result<()> {
        while continues() && self.compact_step().await? {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Prepares an append on the caller's thread: serializes the events, and computes the index keys of messages.
    async fn prepare(&self, caller: &Caller, append: Append) -> Result<PreparedAppend> {
        let json = codec::events_json(&append)?;
        let what = || format!("an append to task {}", append.task);
        StoreError::check_size(json.len(), MAX_APPEND_BYTES, what)?;
        let agent = match append.events.first() {
            Some(Event::Created(created)) => Some(created.agent.clone()),
            // An append that creates no task at its beginning is refused later.
            _ if append.expected == 0 || append.message_ids().next().is_none() => None,
            _ => Some(self.reader.head(caller, &append.task).await?.agent.clone()),
        };
        let key = |agent: &Arc<str>| -> Vec<keys::Key> {
            append.message_ids().map(|(id, _)| keys::message(caller, agent, id)).collect()
        };
        let messages = agent.as_ref().map(key).unwrap_or_default();
        Ok(PreparedAppend { caller: caller.clone(), append, messages, json })
    }

    /// Reads from the disk on a thread of the store.
    async fn read_disk<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.reader.blocking(|reader| read(&reader.disk)).await
    }
}

#[async_trait]
impl Store for SledStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>> {
        // The committer must not do this, because all other writers wait for it.
        self.reader.read_again(caller, &append.task).await?;
        let prepared = self.prepare(caller, append.checked()?).await?;
        let publisher = self.reader.publisher.clone();
        self.committer.append(prepared, publisher).await
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        let latest = self.reader.latest(caller, task).await?;
        if after >= latest.head.seq {
            return Ok(Vec::new());
        }
        self.read_disk(move |disk| disk.events(&latest, after, limit)).await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>> {
        self.reader.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot> {
        let latest = self.reader.latest(caller, task).await?;
        self.reader.snapshot(latest).await
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        let (caller, query) = (caller.clone(), query.clone());
        self.reader.blocking(move |reader| reader.list(&caller, &query)).await
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>> {
        let found = self.reader.entry::<(Seq, String)>(keys::message(caller, agent, message_id));
        match found.await? {
            Some((seq, task)) if self.reader.exists(&task).await? => Ok(Some((task, seq))),
            Some(_) | None => Ok(None),
        }
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>> {
        let found = self.reader.entry::<String>(keys::client_task(caller, agent, client_id));
        match found.await? {
            Some(task) if self.reader.exists(&task).await? => Ok(Some(task)),
            Some(_) | None => Ok(None),
        }
    }

    async fn owner(&self, task: &str) -> Result<Caller> {
        let name = task.to_owned();
        let found = self.read_disk(move |disk| disk.find(&name)).await?;
        found.map(|latest| latest.head.owner.clone()).ok_or_else(|| StoreError::not_found(task))
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        let after = after.to_owned();
        self.read_disk(move |disk| disk.open_turns(&after, limit)).await
    }

    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        let (list, after) = (keys::idle(kind, agent), after.cloned());
        self.read_disk(move |disk| disk.heads_until(list, after.as_ref(), until, limit)).await
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        self.read_disk(Reader::counts).await
    }

    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        let (reader, gone) = (self.reader.clone(), task.to_owned());
        let forget = move || {
            reader.disk.quarantine.remove(&gone);
            reader.publisher.cache.forget(&gone);
            reader.publisher.feed.end(&gone);
        };
        let (caller, task) = (caller.clone(), task.to_owned());
        self.committer.delete(caller, task, deletion, forget).await
    }

    async fn maintain(&self) -> Result<bool> {
        let step = self.compaction.step(&self.reader, &self.committer, CompactionGoal::Bounded);
        step.await
    }

    async fn compact_step(&self) -> Result<bool> {
        self.compaction.step(&self.reader, &self.committer, CompactionGoal::All).await
    }

    async fn inspect(&self) -> Result<Option<StoreReport>> {
        self.read_disk(|reader| export::check_in_use(reader).map(Some)).await
    }

    async fn disk_use(&self) -> Result<Option<DiskUse>> {
        self.read_disk(Reader::disk_use).await.map(Some)
    }

    async fn ready(&self) -> Result<()> {
        self.committer.check_writable().await?;
        self.open_turns("", 1).await.map(|_| ())
    }

    fn damage(&self) -> Damage {
        let reader = &self.reader.disk;
        let lost = reader.log.lost();
        Damage {
            tasks: reader.quarantine.count(),
            bytes: lost.iter().map(|lost| lost.end - lost.start).sum(),
        }
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch> {
        let watch = self.reader.publisher.feed.watch(task);
        let head = self.reader.head(caller, task).await?;
        Ok(watch.with_head(&head))
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.reader.publisher.feed.listen(listener);
    }

    async fn put_record(&self, caller: &Caller, key: &RecordKey, value: Vec<u8>) -> Result<()> {
        key.check(&value)?;
        let name = keys::record(caller, key);
        let what = || format!("the names of record {}/{}/{}", key.kind, key.scope, key.id);
        StoreError::check_size(name.len(), MAX_KEY_BYTES, what)?;
        self.committer.record(name, Some(value)).await?;
        Ok(())
    }

    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>> {
        let key = keys::record(caller, key);
        match self.reader.entry(key.clone()).await? {
            None => Ok(None),
            Some(offset) => self.read_disk(move |disk| disk.record(&key, offset)).await,
        }
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool> {
        let key = keys::record(caller, key);
        self.committer.record(key, None).await
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let prefix = keys::records(caller, kind, scope);
        self.read_disk(move |disk| disk.records(prefix)).await
    }

    async fn have_records(&self, kind: &str, scopes: &[(Caller, String)]) -> Result<Vec<bool>> {
        let key = |(caller, scope): &(Caller, String)| keys::records(caller, kind, scope);
        let prefixes: Vec<keys::Key> = scopes.iter().map(key).collect();
        self.read_disk(move |disk| {
            let first = |prefix| disk.index().scan(prefix, None).next().transpose();
            prefixes.into_iter().map(|prefix| Ok(first(prefix)?.is_some())).collect()
        })
        .await
    }
}
