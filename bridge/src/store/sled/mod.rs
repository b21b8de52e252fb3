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
//! - `reader`: reading
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

pub use open::SledSettings;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use self::{
    codec::{Body, Record},
    committer::{Committer, Told},
    content::ContentFiles,
    draft::Prepared,
    flight::Flight,
    reader::Reader,
};
use super::{
    Append, Changes, Head, ListQuery, Page, RecordKey, Seq, Snapshot, Store, StoreError, Stored,
    Watch,
    cache::{Cache, Cached},
    feed::Feed,
    lease::Leases,
    record,
};
use crate::caller::Caller;

/// Events of one append that have more bytes than this are kept in a file of their own.
const INLINE: usize = 32 << 10;
/// The bytes that the events of one append may have.
const LIMIT: usize = 64 << 20;
/// How many events are read at once when a task is computed.
const PAGE: usize = 256;

/// A store in a folder.
#[derive(Debug)]
pub struct SledStore {
    // Before the reader: the committer ends first, so that the database is let go when this is dropped.
    committer: Committer,
    reader: Reader,
    content: Arc<ContentFiles>,
    told: Told,
    cache: Cache,
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
            feed: Arc::new(Feed::new()),
        };
        let reader = Reader(opened.db);
        Ok(Self {
            committer: Committer::start(reader.clone(), opened.file, told.clone())?,
            reader,
            content: Arc::new(opened.content),
            told,
            cache: Cache::new(settings.task_cache),
            leases: Leases::default(),
        })
    }

    /// The head as far as it is durable.
    async fn settled_head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        let head = match self.told.heads.get(task) {
            Some(head) => Some(head),
            None => {
                let head = self.reader.head(task)?;
                self.settled(task).await?;
                head.map(Arc::new)
            }
        };
        let owned = head.filter(|head| head.owner == *caller);
        owned.ok_or_else(|| StoreError::not_found(task))
    }

    /// Waits until what was just read of the task is durable.
    async fn settled(&self, task: &str) -> Result<(), StoreError> {
        self.told.flight.settled(&keys::log(task)).await
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
                let content = Arc::clone(&self.content);
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
        let before = self.reader.head(&append.task)?;
        Head::after(before.as_ref(), caller, append).map(|_| ())
    }

    /// The events of a record, wherever they are.
    async fn events(&self, record: Record) -> Result<Vec<Stored>, StoreError> {
        let Some(hash) = record.file()? else {
            return record.events();
        };
        let content = Arc::clone(&self.content);
        blocking(move || record.events_from(&content.read(&hash)?)).await
    }

    /// The task as it stands after `head`, from the cache as far as that goes.
    async fn snapshot(&self, head: &Head) -> Result<Snapshot, StoreError> {
        if let Some(snapshot) = self.cache.get(&head.task, head.seq) {
            return Ok(snapshot);
        }
        let known = self.cache.take(&head.task, head.seq);
        let mut cached = known.unwrap_or_else(|| Cached {
            snapshot: Snapshot::empty(head),
            bytes: 0,
        });
        while cached.snapshot.seq < head.seq {
            self.advance(head, &mut cached).await?;
        }
        let snapshot = cached.snapshot.clone();
        self.cache.put(&head.task, cached);
        Ok(snapshot)
    }

    /// Applies the next events, but none after `head`: those may not be durable.
    async fn advance(&self, head: &Head, cached: &mut Cached) -> Result<(), StoreError> {
        let before = cached.snapshot.seq;
        let records = self.reader.log(&head.task, before, PAGE)?;
        let records = records.into_iter();
        for record in records.take_while(|record| record.last <= head.seq) {
            cached.bytes += record.bytes.len();
            for stored in self.events(record).await? {
                cached.snapshot.apply(stored);
            }
        }
        match cached.snapshot.seq > before {
            true => Ok(()),
            false => Err(StoreError::corrupt(
                format!("task {}", head.task),
                &format!("the events after {before} are missing"),
            )),
        }
    }
}

/// Runs what waits for the disk where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| StoreError::Closed)?
}

#[async_trait]
impl Store for SledStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Seq, StoreError> {
        let prepared = self.prepare(caller, append.checked()?).await?;
        let head = self.committer.append(prepared).await?;
        Ok(head.seq)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let head = self.settled_head(caller, task).await?;
        let limit = limit.min(usize::try_from(head.seq.saturating_sub(after)).unwrap_or(limit));
        let mut events = Vec::new();
        if limit > 0 {
            for record in self.reader.log(task, after, limit)? {
                events.extend(self.events(record).await?);
            }
        }
        events.retain(|stored| stored.seq > after);
        events.truncate(limit);
        Ok(events)
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Head, StoreError> {
        Ok(self.settled_head(caller, task).await?.as_ref().clone())
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        let head = self.settled_head(caller, task).await?;
        self.snapshot(&head).await
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let (reader, owner, wanted) = (self.reader.clone(), caller.clone(), query.clone());
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
            .reader
            .message(&keys::message(caller, agent, message_id))?;
        if let Some((task, _)) = &place {
            self.settled(task).await?;
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
            .reader
            .client_task(&keys::client_task(caller, agent, client_id))?;
        if let Some(task) = &task {
            self.settled(task).await?;
        }
        Ok(task)
    }

    async fn open_tasks(
        &self,
        after: Option<&Head>,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let (reader, after) = (self.reader.clone(), after.cloned());
        let heads = blocking(move || reader.open_tasks(after.as_ref(), limit)).await?;
        for head in &heads {
            self.settled(&head.task).await?;
        }
        Ok(heads)
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.told.feed.watch(task);
        let head = self.settled_head(caller, task).await?;
        self.told.feed.seen(task, head.seq);
        Ok(watch)
    }

    fn changes(&self) -> Changes {
        self.told.feed.changes()
    }

    async fn acquire(
        &self,
        caller: &Caller,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.settled_head(caller, task).await?;
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
        self.settled_head(caller, task).await?;
        self.leases.renew(task, holder, now, until)
    }

    async fn release(&self, caller: &Caller, task: &str, holder: &str) -> Result<(), StoreError> {
        self.settled_head(caller, task).await?;
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
        let value = self.reader.record(&key)?;
        self.told.flight.settled(&key).await?;
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
        let records = self.reader.records(&prefix)?;
        for (id, _) in &records {
            let key = [prefix.as_slice(), id.as_bytes()].concat();
            self.told.flight.settled(&key).await?;
        }
        Ok(records)
    }
}
