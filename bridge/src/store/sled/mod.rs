//! Tasks on the disk, in a sled database: the default.
//!
//! One process at a time has it open, one thread of it writes. Readers need no lock and see only what is
//! durable. What grows with the number of tasks is on the disk; in memory there are only the two caches
//! of [`SledSettings`] and what is being watched or written.
//!
//! - `open`: settings, locks, formats, what a crash left behind
//! - `keys`, `codec`: where things stand and how they are written
//! - `draft`, `committer`: batches, and the thread that makes them durable
//! - `flight`, `reader`: what is not durable yet, and reading
//! - `content`: files for what is too large

mod codec;
mod committer;
mod content;
mod draft;
mod error;
mod flight;
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
    committer::Committer,
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
    flight: Arc<Flight>,
    feed: Arc<Feed>,
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
        let (flight, feed) = (Arc::new(Flight::new()), Arc::new(Feed::new()));
        let (for_flight, for_feed) = (Arc::clone(&flight), Arc::clone(&feed));
        Ok(Self {
            committer: Committer::start(opened.db.clone(), opened.file, for_flight, for_feed)?,
            reader: Reader(opened.db),
            content: Arc::new(opened.content),
            flight,
            feed,
            cache: Cache::new(settings.task_cache),
            leases: Leases::default(),
        })
    }

    /// A head that is durable.
    async fn settled_head(&self, caller: &Caller, task: &str) -> Result<Head, StoreError> {
        let head = self.reader.head(caller, task);
        self.flight.settled(&keys::head(task)).await?;
        head
    }

    /// Writes the events as they will stand in the database, what is large in a file first.
    async fn prepare(&self, caller: &Caller, append: Append) -> Result<Prepared, StoreError> {
        let json = codec::body(&append)?;
        if json.len() > LIMIT {
            return Err(StoreError::TooLarge {
                what: format!("an append to task {}", append.task),
                size: json.len(),
                limit: LIMIT,
            });
        }
        let (record, file) = match json.len() > INLINE {
            false => (codec::envelope(&append, &Body::Here(&json)), None),
            true => {
                self.check_expected(caller, &append)?;
                let content = Arc::clone(&self.content);
                let hash = blocking(move || content.write(&json)).await?;
                let record = codec::envelope(&append, &Body::File(hash));
                (record, Some(content::name(&hash)))
            }
        };
        Ok(Prepared {
            caller: caller.clone(),
            append,
            record,
            file,
        })
    }

    /// Spares the disk a large file for an append that will be refused.
    fn check_expected(&self, caller: &Caller, append: &Append) -> Result<(), StoreError> {
        let before = match self.reader.head(caller, &append.task) {
            Err(StoreError::NotFound { .. }) => None,
            known => Some(known?),
        };
        Head::after(before.as_ref(), caller, append).map(|_| ())
    }

    /// The events of a record, wherever they are.
    async fn events(&self, record: Record) -> Result<Vec<Stored>, StoreError> {
        match record.body()? {
            Body::Here(json) => record.events(json),
            Body::File(hash) => {
                let content = Arc::clone(&self.content);
                blocking(move || record.events(&content.read(&hash)?)).await
            }
        }
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
        self.settled_head(caller, task).await
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
            self.flight.settled(&keys::head(task)).await?;
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
            self.flight.settled(&keys::head(task)).await?;
        }
        Ok(task)
    }

    async fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let (reader, after) = (self.reader.clone(), after.to_owned());
        let heads = blocking(move || reader.open_tasks(&after, limit)).await?;
        for head in &heads {
            self.flight.settled(&keys::head(&head.task)).await?;
        }
        Ok(heads)
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.feed.watch(task);
        let head = self.settled_head(caller, task).await?;
        self.feed.seen(task, head.seq);
        Ok(watch)
    }

    fn changes(&self) -> Changes {
        self.feed.changes()
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
        self.flight.settled(&key).await?;
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
            self.flight.settled(&key).await?;
        }
        Ok(records)
    }
}
