//! Tasks on the disk, in a sled database: the default.
//!
//! One process at a time has it open, one thread of it writes. Readers need no lock and see only what is
//! durable. What grows with the number of tasks is on the disk; in memory there are only the two caches
//! of [`SledSettings`] and what is being watched or written.
//!
//! - `open`: settings, locks, formats, what a crash left behind
//! - `keys`, `codec`: where things stand and how they are written
//! - `draft`, `committer`: batches, and the thread that makes them durable
//! - `flight`, `heads`: what is not durable yet, and what was written lately
//! - `reader`, `view`: reading, and what of it is shown
//! - `content`: files for what is too large

mod codec;
mod committer;
mod content;
mod draft;
mod error;
mod flight;
mod heads;
mod keys;
mod open;
mod reader;
#[cfg(test)]
mod tests;
mod view;

pub use open::SledSettings;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use self::{
    codec::Body,
    committer::{Committer, Told},
    draft::Prepared,
    flight::Flight,
    reader::Reader,
    view::{View, blocking},
};
use super::{
    Append, Changes, Head, ListQuery, Page, RecordKey, Seq, Snapshot, Store, StoreError, Stored,
    Watch, cache::Cache, feed::Feed, lease::Leases, record,
};
use crate::caller::Caller;

/// Events of one append that have more bytes than this are kept in a file of their own.
const INLINE: usize = 32 << 10;
/// The bytes that the events of one append may have.
const LIMIT: usize = 64 << 20;

/// A store in a folder.
#[derive(Debug)]
pub struct SledStore {
    // Before the view: the committer ends first, so that the database is let go when this is dropped.
    committer: Committer,
    view: View,
    leases: Leases,
}

impl SledStore {
    /// Opens the folder's database or makes it. It blocks for as long as it takes to read the database's
    /// log, and up to a second for another process to let go of it.
    ///
    /// Errors: `InUse`, `Newer`, `Corrupt`, `Io`, `Full`.
    pub fn open(settings: &SledSettings) -> Result<Self, StoreError> {
        let opened = open::open(settings)?;
        let told = Told {
            flight: Arc::new(Flight::new()),
            heads: Arc::default(),
            cache: Arc::new(Cache::new(settings.task_cache)),
            feed: Arc::new(Feed::new()),
        };
        let reader = Reader(opened.db);
        Ok(Self {
            committer: Committer::start(reader.clone(), opened.file, told.clone())?,
            view: View {
                reader,
                content: Arc::new(opened.content),
                told,
            },
            leases: Leases::default(),
        })
    }

    /// Writes the events as they will stand in the database, what is large in a file first.
    async fn prepare(&self, caller: &Caller, append: Append) -> Result<Prepared, StoreError> {
        let json = codec::events_json(&append)?;
        if json.len() > LIMIT {
            return Err(StoreError::TooLarge {
                what: format!("an append to task {}", append.task),
                size: json.len(),
                limit: LIMIT,
            });
        }
        let body = match json.len() > INLINE {
            false => Body::Here(json),
            true => {
                self.check_expected(caller, &append)?;
                let content = Arc::clone(&self.view.content);
                Body::File(blocking(move || content.write(&json)).await?)
            }
        };
        let caller = caller.clone();
        Ok(Prepared {
            caller,
            append,
            body,
        })
    }

    /// Spares the disk a large file for an append that will be refused.
    fn check_expected(&self, caller: &Caller, append: &Append) -> Result<(), StoreError> {
        let before = self.view.reader.head(&append.task)?;
        Head::after(before.as_ref(), caller, append).map(|_| ())
    }
}

#[async_trait]
impl Store for SledStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let prepared = self.prepare(caller, append.checked()?).await?;
        self.committer.append(prepared).await
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let head = self.view.head(caller, task).await?;
        self.view.read(&head, after, limit).await
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        self.view.head(caller, task).await
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        let head = self.view.head(caller, task).await?;
        self.view.snapshot(&head).await
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
        let place = self
            .view
            .reader
            .message(&keys::message(caller, agent, message_id))?;
        if let Some((task, _)) = &place {
            self.view.settled(task).await?;
        }
        Ok(place)
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        let task = self
            .view
            .reader
            .client_task(&keys::client_task(caller, agent, client_id))?;
        if let Some(task) = &task {
            self.view.settled(task).await?;
        }
        Ok(task)
    }

    async fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let (reader, after) = (self.view.reader.clone(), after.to_owned());
        let heads = blocking(move || reader.open_tasks(&after, limit)).await?;
        for head in &heads {
            self.view.settled(&head.task).await?;
        }
        Ok(heads)
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.view.told.feed.watch(task);
        let head = self.view.head(caller, task).await?;
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
        self.view.head(caller, task).await?;
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
        self.view.head(caller, task).await?;
        self.leases.renew(task, holder, now, until)
    }

    async fn release(&self, caller: &Caller, task: &str, holder: &str) -> Result<(), StoreError> {
        self.view.head(caller, task).await?;
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
        let key = keys::record(caller, key);
        self.committer.record(key, Some(value)).await?;
        Ok(())
    }

    async fn record(
        &self,
        caller: &Caller,
        key: &RecordKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = keys::record(caller, key);
        let value = self.view.reader.record(&key)?;
        self.view.told.flight.settled(&key).await?;
        Ok(value)
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
        let records = self.view.reader.records(&prefix)?;
        for (id, _) in &records {
            let key = [prefix.as_slice(), id.as_bytes()].concat();
            self.view.told.flight.settled(&key).await?;
        }
        Ok(records)
    }
}
