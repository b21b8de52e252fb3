//! Tasks on the disk: the default. What is true is a log, a file of our own; where things stand in it is
//! in an index in a sled database, which is written later and can be made anew.
//!
//! One process at a time has it open, one thread of it writes. Readers see only what is durable. What
//! grows with the number of tasks is on the disk; in memory there are only the caches of [`SledSettings`],
//! what was written in the last moment, and the index's filters (1.25 bytes an entry, four entries a
//! task).
//!
//! - `open`: settings, locks, formats, what a crash left behind
//! - `private`: nobody else can look into any of it
//! - `log`: the files, frames and checksums
//! - `codec`, `keys`: what stands in the log and in the index
//! - `index`: entries in memory and in sled
//! - `draft`, `moved`, `committer`, `answers`: batches, what follows from them for the index, and the thread
//!   that makes them durable
//! - `heads`: what was written lately
//! - `reader`, `lists`, `view`: reading

mod answers;
mod codec;
mod committer;
mod draft;
mod error;
mod heads;
mod index;
mod keys;
mod lists;
mod log;
#[cfg(test)]
mod model;
mod moved;
mod open;
mod private;
mod reader;
#[cfg(test)]
mod tests;
mod view;

pub use open::SledSettings;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use self::{
    committer::{Committer, Told},
    draft::Prepared,
    index::Indexer,
    open::Opened,
    view::{View, blocking},
};
use super::{
    Append, Changes, Head, ListQuery, Page, RecordKey, Seq, Snapshot, Store, StoreError, Stored,
    Watch, cache::Cache, feed::Feed, lease::Leases, record,
};
use crate::caller::Caller;

/// The bytes that the events of one append may have.
const LIMIT: usize = 64 << 20;
/// The bytes that all names of a small record may have.
const KEY_LIMIT: usize = 16 << 10;

/// A store in a folder.
#[derive(Debug)]
pub struct SledStore {
    // They are dropped in this order: the index is written when no more can come, and only then may
    // another open the folder.
    committer: Committer,
    _indexer: Indexer,
    view: View,
    leases: Leases,
}

impl SledStore {
    /// Opens the folder's store or makes it. It blocks until the index has all of the log, and up to a
    /// second for another process to let go of the folder.
    ///
    /// Errors: `InUse`, `Older`, `Newer`, `Corrupt`, `Io`, `Full`.
    pub fn open(settings: &SledSettings) -> Result<Self, StoreError> {
        let Opened {
            reader,
            log,
            indexer,
        } = open::open(settings)?;
        let told = Told {
            cache: Arc::new(Cache::new(settings.task_cache)),
            feed: Arc::new(Feed::new()),
        };
        Ok(Self {
            committer: Committer::start(reader.clone(), log, told.clone())?,
            _indexer: indexer,
            view: View { reader, told },
            leases: Leases::default(),
        })
    }

    /// Writes the events as they will stand in the log.
    fn prepare(caller: &Caller, append: Append) -> Result<Prepared, StoreError> {
        let json = codec::events_json(&append)?;
        if json.len() > LIMIT {
            return Err(StoreError::TooLarge {
                what: format!("an append to task {}", append.task),
                size: json.len(),
                limit: LIMIT,
            });
        }
        let caller = caller.clone();
        Ok(Prepared {
            caller,
            append,
            json,
        })
    }
}

#[async_trait]
impl Store for SledStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let prepared = Self::prepare(caller, append.checked()?)?;
        self.committer.append(prepared).await
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let tip = self.view.tip(caller, task)?;
        self.view.read(&tip, after, limit).await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        self.view.head(caller, task)
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        let tip = self.view.tip(caller, task)?;
        self.view.snapshot(&tip).await
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let (reader, owner, wanted) = (self.view.reader.clone(), caller.clone(), query.clone());
        let places = blocking(move || reader.places(&owner, &wanted)).await?;
        let mut tasks = Vec::with_capacity(places.tasks.len());
        for place in &places.tasks {
            tasks.push(self.task(caller, &place.task).await?);
        }
        Ok(Page {
            tasks,
            next: places.next,
            total: places.total,
        })
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError> {
        let key = keys::message(caller, agent, message_id);
        self.view.reader.message(&key)
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        let key = keys::client_task(caller, agent, client_id);
        self.view.reader.client_task(&key)
    }

    async fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let (reader, after) = (self.view.reader.clone(), after.to_owned());
        blocking(move || reader.open_tasks(&after, limit)).await
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.view.told.feed.watch(task);
        let head = self.view.head(caller, task)?;
        self.view.told.feed.seen(&head);
        Ok(watch)
    }

    fn changes(&self) -> Changes {
        self.view.told.feed.changes()
    }

    async fn acquire(
        &self,
        caller: &Caller,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.view.head(caller, task)?;
        self.leases.acquire(task, holder, now, until)
    }

    async fn renew(
        &self,
        caller: &Caller,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.view.head(caller, task)?;
        self.leases.renew(task, holder, now, until)
    }

    async fn release(&self, caller: &Caller, task: &str, holder: &str) -> Result<(), StoreError> {
        self.view.head(caller, task)?;
        self.leases.release(task, holder);
        Ok(())
    }

    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        record::check_size(key, &value)?;
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
        self.view.reader.record(&key)
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
        self.view.reader.records(&prefix)
    }
}
