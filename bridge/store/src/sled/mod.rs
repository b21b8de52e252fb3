//! Tasks on the disk: the default store. All data are in a log, a file format of our own. An index in a sled database has
//! their places in the log; it is written later and can be made anew.
//!
//! One process at a time has the store open, and one of its threads writes. Readers see durable data only. Memory does not
//! grow with the number of tasks, but for the index's filters (two bytes an entry, three entries a task); it holds the
//! caches of [`SledSettings`] and the newest entries (of a hundred thousand appends).
//!
//! - `open`, `follow`: settings, locks, formats, the start after a crash; an index that is lost or fails is made anew
//! - `log`: the files, frames and checksums
//! - `codec`, `keys`: the content of the log and of the index
//! - `index`: entries in memory and in sled
//! - `draft`, `committer`, `commit_queue`: batches, their changes of the index, and the thread that makes them durable
//! - `reader`, `lists`, `cached_reader`: reading
//! - `compaction`: frees disk space
//! - `backup`: copies of the folder
//! - `check`: checks all of it
//! - `whole`: all tasks and records, for copies

mod backup;
mod cached_reader;
mod check;
mod codec;
mod commit_queue;
mod committer;
mod compaction;
mod copies;
mod draft;
mod export;
mod follow;
mod index;
mod index_folder;
#[cfg(test)]
mod interleavings;
mod keys;
mod lists;
mod log;
mod logged;
#[cfg(any(test, feature = "testing"))]
mod lots;
#[cfg(test)]
mod model;
mod open;
mod reader;
mod reader_threads;
mod settings;
#[cfg(test)]
mod tests;
mod tip;

pub use backup::copy_store;
#[cfg(any(test, feature = "testing"))]
pub use log::{Faults, Flaw, Gate, SimulatedDisk};
pub use settings::SledSettings;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    // By these names, `commit_queue` finds others in their place when `interleavings` tries it.
    thread,
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync as channels;

use self::{
    cached_reader::CachedReader,
    committer::{Committer, Publisher},
    compaction::{Compaction, Wanted},
    draft::Prepared,
    follow::Rebuilder,
    open::Opened,
    reader::Reader,
};
use super::{
    Append, Damage, Deletion, DiskUse, EndedTasks, Event, Head, ListPosition, ListQuery, Listener,
    Page, RecordKey, Seq, Snapshot, Store, StoreError, StoreReport, StoredEvent, Unordered, Watch,
    cache::Cache, feed::Feed,
};
use crate::caller::Caller;

/// The largest size of the events of one append, in bytes.
const LIMIT: usize = 64 << 20;
/// The largest size of all names of a small record, in bytes.
const KEY_LIMIT: usize = 16 << 10;

/// A store in a folder.
#[derive(Debug)]
pub struct SledStore {
    // The fields are dropped in this order: writes end, then the index is closed, and only then may another process open
    // the folder.
    committer: Committer,
    reader: CachedReader,
    compaction: Compaction,
}

impl SledStore {
    /// Opens the folder's store or makes it. It blocks until the index has all of the log, and waits up to a second for
    /// another process to close the folder.
    ///
    /// Errors: `InUse`, `Older`, `Newer`, `Corrupt`, `Io`, `Full`.
    pub fn open(settings: &SledSettings) -> Result<Self, StoreError> {
        Self::open_on(settings, &(Arc::new(log::RealDisk::default()) as _))
    }

    /// The same with the log on this disk.
    fn open_on(settings: &SledSettings, disk: &Arc<dyn log::Disk>) -> Result<Self, StoreError> {
        let Opened { reader, log } = open::open(settings, disk)?;
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

    /// The same with the log on a simulated disk, which has nothing on it at first.
    #[cfg(any(test, feature = "testing"))]
    pub fn open_simulated(
        settings: &SledSettings,
        disk: &SimulatedDisk,
    ) -> Result<Self, StoreError> {
        Self::open_on(settings, &(Arc::new(disk.clone()) as _))
    }

    /// Reads the whole store and reports what is damaged. It blocks for as long as that takes.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    pub fn check(&self) -> Result<StoreReport, StoreError> {
        check::check(&self.reader.disk)
    }

    /// Frees the disk space of deleted tasks and replaced records, as far as whole files can be removed. `steps` is asked
    /// before each step whether to go on.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub async fn compact(&self, mut steps: impl FnMut() -> bool) -> Result<(), StoreError> {
        while steps() && self.compact_step().await? {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Does the part of an append that needs no lock: writes the events as JSON for the log.
    async fn prepare(&self, caller: &Caller, append: Append) -> Result<Prepared, StoreError> {
        let json = codec::events_json(&append)?;
        if json.len() > LIMIT {
            return Err(StoreError::TooLarge {
                what: format!("an append to task {}", append.task),
                size: json.len(),
                limit: LIMIT,
            });
        }
        let messages = match append.message_ids().next() {
            Some(_) => self.message_keys(caller, &append).await?,
            None => Vec::new(),
        };
        Ok(Prepared {
            caller: caller.clone(),
            append,
            messages,
            json,
        })
    }

    /// Reads from the disk on a thread of the store.
    async fn read_disk<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.reader.blocking(|reader| read(&reader.disk)).await
    }

    async fn message_keys(
        &self,
        caller: &Caller,
        append: &Append,
    ) -> Result<Vec<keys::Key>, StoreError> {
        let key = |agent: &str| {
            let ids = append.message_ids();
            ids.map(|(id, _)| keys::message(caller, agent, id))
                .collect()
        };
        Ok(match append.events.first() {
            Some(Event::Created(created)) => key(&created.agent),
            // It is refused.
            _ if append.expected == 0 => Vec::new(),
            _ => key(&self.reader.head(caller, &append.task).await?.agent),
        })
    }
}

#[async_trait]
impl Store for SledStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
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
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let tip = self.reader.tip(caller, task).await?;
        if after >= tip.head.seq {
            return Ok(Vec::new());
        }
        self.read_disk(move |disk| disk.events(&tip, after, limit))
            .await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        self.reader.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        let tip = self.reader.tip(caller, task).await?;
        self.reader.snapshot(tip).await
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let (caller, query) = (caller.clone(), query.clone());
        self.reader
            .blocking(move |reader| reader.list(&caller, &query))
            .await
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError> {
        let found = self
            .reader
            .entry::<(Seq, String)>(keys::message(caller, agent, message_id));
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
    ) -> Result<Option<String>, StoreError> {
        let found = self
            .reader
            .entry::<String>(keys::client_task(caller, agent, client_id));
        match found.await? {
            Some(task) if self.reader.exists(&task).await? => Ok(Some(task)),
            Some(_) | None => Ok(None),
        }
    }

    async fn owner(&self, task: &str) -> Result<Caller, StoreError> {
        let name = task.to_owned();
        self.read_disk(move |disk| disk.owner(&name)).await
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let after = after.to_owned();
        self.read_disk(move |disk| disk.open_turns(&after, limit))
            .await
    }

    async fn waiting_tasks(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let (list, after) = (keys::waiting(agent), after.cloned());
        self.read_disk(move |disk| disk.since(list, after.as_ref(), until, limit))
            .await
    }

    async fn open_counts(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        self.read_disk(Reader::open_counts).await
    }

    async fn delete(
        &self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
    ) -> Result<(), StoreError> {
        let (reader, gone) = (self.reader.clone(), task.to_owned());
        let forget = move || {
            reader.disk.quarantine.remove(&gone);
            reader.publisher.cache.forget(&gone);
            reader.publisher.feed.end(&gone);
        };
        let (caller, task) = (caller.clone(), task.to_owned());
        self.committer.delete(caller, task, deletion, forget).await
    }

    async fn ended_tasks(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let (list, after) = (keys::ended(agent), after.cloned());
        self.read_disk(move |disk| disk.since(list, after.as_ref(), until, limit))
            .await
    }

    async fn ended_counts(&self) -> Result<BTreeMap<String, EndedTasks>, StoreError> {
        self.read_disk(Reader::ended_counts).await
    }

    async fn maintain(&self) -> Result<bool, StoreError> {
        let step = self
            .compaction
            .step(&self.reader, &self.committer, Wanted::Bounded);
        step.await
    }

    async fn compact_step(&self) -> Result<bool, StoreError> {
        self.compaction
            .step(&self.reader, &self.committer, Wanted::All)
            .await
    }

    async fn inspect(&self) -> Result<Option<StoreReport>, StoreError> {
        self.read_disk(|reader| check::check_in_use(reader).map(Some))
            .await
    }

    async fn disk_use(&self) -> Result<Option<DiskUse>, StoreError> {
        self.read_disk(Reader::disk_use).await.map(Some)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.committer.look().await?;
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

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.reader.publisher.feed.watch(task);
        let head = self.reader.head(caller, task).await?;
        Ok(watch.with_head(&head))
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.reader.publisher.feed.listen(listener);
    }

    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        key.check(&value)?;
        let name = keys::record(caller, key);
        if name.len() > KEY_LIMIT {
            return Err(StoreError::TooLarge {
                what: format!("the names of record {}/{}/{}", key.kind, key.scope, key.id),
                size: name.len(),
                limit: KEY_LIMIT,
            });
        }
        self.committer.record(name, Some(value)).await?;
        Ok(())
    }

    async fn record(
        &self,
        caller: &Caller,
        key: &RecordKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = keys::record(caller, key);
        match self.reader.entry(key.clone()).await? {
            None => Ok(None),
            Some(offset) => self.read_disk(move |disk| disk.record(&key, offset)).await,
        }
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool, StoreError> {
        let key = keys::record(caller, key);
        self.committer.record(key, None).await
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let prefix = keys::records(caller, kind, scope);
        self.read_disk(move |disk| disk.records(prefix)).await
    }

    async fn have_records(
        &self,
        kind: &str,
        scopes: &[(Caller, String)],
    ) -> Result<Vec<bool>, StoreError> {
        let key = |(caller, scope): &(Caller, String)| keys::records(caller, kind, scope);
        let prefixes: Vec<keys::Key> = scopes.iter().map(key).collect();
        self.read_disk(move |disk| {
            let prefixes = prefixes.into_iter();
            prefixes.map(|prefix| disk.has_record(prefix)).collect()
        })
        .await
    }
}
