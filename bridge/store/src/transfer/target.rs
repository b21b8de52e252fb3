//! Writes a copy into a store, and checks it.
//!
//! A record marks an unfinished copy: a bridge does not serve such a store, and the copy can be continued.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{Item, TransferError, TransferReport};
use crate::{
    Append, Event, ExportStore, RecordEntry, RecordKey, Result, Seq, Store, StoreError,
    StoredEvent, caller::Caller,
};

/// The largest number of tasks that are written concurrently.
const MAX_CONCURRENT: usize = 64;

/// The number of pending appends, and the size of their events, from which they are written.
const MAX_PENDING: usize = 1_024;
const MAX_PENDING_SIZE: usize = 16 << 20;

/// The kind of the record that marks an unfinished copy.
const MARK_KIND: &str = "unfinished-copy";

fn mark_key() -> RecordKey {
    RecordKey { kind: MARK_KIND.to_owned(), scope: String::new(), id: String::new() }
}

pub(super) fn is_mark(key: &RecordKey) -> bool {
    key.kind == MARK_KIND
}

/// Returns the name of the source if the store is an unfinished copy.
///
/// # Errors
/// If the store fails.
pub async fn unfinished_source(store: &dyn Store) -> Result<Option<String>> {
    let found = store.record(&Caller::anonymous(), &mark_key()).await?;
    Ok(found.map(|source| String::from_utf8_lossy(&source).into_owned()))
}

/// A store to which a copy is written.
#[derive(Debug)]
pub struct StoreTarget {
    store: Arc<dyn ExportStore>,
    place: String,
    /// The pending appends by task, in order.
    pending: Vec<(Caller, Vec<Append>)>,
    count: usize,
    size: usize,
}

impl StoreTarget {
    /// Begins or continues a copy of the source with the name `source`.
    ///
    /// # Errors
    /// `NotEmpty` if the store has any content except an unfinished copy of the same source; `InUse`.
    pub async fn begin(
        store: Arc<dyn ExportStore>,
        place: impl Into<String>,
        source: &str,
    ) -> Result<Self, TransferError> {
        let target = Self { store, place: place.into(), pending: Vec::new(), count: 0, size: 0 };
        super::wait_for_others(&*target.store, &target.place).await?;
        let found = target.store_result(unfinished_source(&*target.store).await)?;
        let is_resumed = found.as_deref() == Some(source);
        if !is_resumed && (found.is_some() || !target.is_empty().await?) {
            let place = target.place;
            return Err(TransferError::NotEmpty { place, found });
        }
        let name = source.as_bytes().to_vec();
        let (owner, key) = (Caller::anonymous(), mark_key());
        let put = target.store.put_record(&owner, &key, name).await;
        target.store_result(put)?;
        Ok(target)
    }

    async fn is_empty(&self) -> Result<bool, TransferError> {
        let tasks = self.store_result(self.store.all_tasks(&[], 1).await)?;
        let records = self.store_result(self.store.all_records(&[], 1).await)?;
        Ok(tasks.last.is_none() && records.last.is_none())
    }

    pub(super) async fn put(&mut self, item: Item) -> Result<(), TransferError> {
        match item {
            Item::Damaged(..) => Ok(()),
            Item::Record(record) => self.put_record(record).await,
            Item::Append(owner, append) => {
                self.count += 1;
                self.size += append.events.iter().map(Event::size).sum::<usize>();
                match self.pending.last_mut() {
                    Some((_, appends)) if appends[0].task == append.task => appends.push(append),
                    Some(_) | None => self.pending.push((owner, vec![append])),
                }
                match self.count >= MAX_PENDING || self.size >= MAX_PENDING_SIZE {
                    true => self.write().await,
                    false => Ok(()),
                }
            }
        }
    }

    async fn put_record(&self, record: RecordEntry) -> Result<(), TransferError> {
        let RecordEntry { owner, key, value } = record;
        let put = self.store.put_record(&owner, &key, value.clone()).await;
        self.store_result(put)?;
        let copied = self.store_result(self.store.record(&owner, &key).await)?;
        match copied.as_ref() == Some(&value) {
            true => Ok(()),
            // The id may be a secret.
            false => Err(self.difference(format!("a record of the kind {}", key.kind))),
        }
    }

    /// Writes the pending appends, and checks them.
    async fn write(&mut self) -> Result<(), TransferError> {
        (self.count, self.size) = (0, 0);
        let pending = std::mem::take(&mut self.pending);
        let this = &*self;
        let writes = stream::iter(pending)
            .map(|(owner, appends)| async move { this.write_task(&owner, appends).await });
        writes.buffer_unordered(MAX_CONCURRENT).try_collect().await
    }

    async fn write_task(&self, owner: &Caller, appends: Vec<Append>) -> Result<(), TransferError> {
        let Some(first) = appends.first() else {
            return Ok(());
        };
        let (task, before) = (first.task.clone(), first.expected);
        let expected: Vec<StoredEvent> = {
            let appends = appends.iter().cloned();
            appends.flat_map(Append::into_stored).collect()
        };
        let mut seq = match self.store.head(owner, &task).await {
            Ok(head) => head.seq,
            Err(StoreError::NotFound { .. }) => 0,
            Err(error) => return self.store_result(Err(error)),
        };
        for append in appends {
            if let Some(rest) = remaining_events(append, seq) {
                seq = rest.last();
                self.store_result(self.store.append(owner, rest).await)?;
            }
        }
        let read = self.store.read(owner, &task, before, expected.len());
        if self.store_result(read.await)? != expected {
            return Err(self.difference(format!("task {task}")));
        }
        self.check_ids(owner, &task, &expected).await
    }

    /// Checks that the task is found by the ids that its caller chose.
    async fn check_ids(
        &self,
        owner: &Caller,
        task: &str,
        events: &[StoredEvent],
    ) -> Result<(), TransferError> {
        let agent = &self.store_result(self.store.head(owner, task).await)?.agent;
        for StoredEvent { seq, event, .. } in events {
            let is_found = match event {
                Event::Message(message) => {
                    let id = &message.message_id;
                    let found = self.store.find_message(owner, agent, id).await;
                    self.store_result(found)? == Some((task.to_owned(), *seq))
                }
                Event::Created(created) => match &created.client_id {
                    Some(id) => {
                        let found = self.store.find_client_task(owner, agent, id).await;
                        self.store_result(found)?.as_deref() == Some(task)
                    }
                    None => true,
                },
                _ => true,
            };
            if !is_found {
                return Err(self.difference(format!("an id of task {task}")));
            }
        }
        Ok(())
    }

    /// Writes the pending appends, checks the number of tasks, and removes the mark.
    pub(super) async fn finish(&mut self, report: &TransferReport) -> Result<(), TransferError> {
        self.write().await?;
        let (mut after, mut tasks) = (Vec::new(), 0);
        loop {
            let page = self.store_result(self.store.all_tasks(&after, MAX_PENDING).await)?;
            tasks += page.tasks.len();
            let Some(last) = page.last else { break };
            after = last;
        }
        if tasks != report.tasks {
            return Err(self.difference(format!("the number of tasks, {tasks},")));
        }
        let (owner, key) = (Caller::anonymous(), mark_key());
        let removed = self.store.delete_record(&owner, &key).await;
        self.store_result(removed).map(drop)
    }

    fn store_result<T>(&self, done: Result<T>) -> Result<T, TransferError> {
        done.map_err(|error| TransferError::Store { place: self.place.clone(), error })
    }

    fn difference(&self, what: String) -> TransferError {
        TransferError::Different { place: self.place.clone(), what }
    }
}

/// Returns the events of an append that are not yet in a task whose last event is `seq`.
fn remaining_events(mut append: Append, seq: Seq) -> Option<Append> {
    let known = usize::try_from(seq.saturating_sub(append.expected)).unwrap_or(usize::MAX);
    if known >= append.events.len() {
        return None;
    }
    append.events.drain(..known);
    append.expected += known as u64;
    Some(append)
}
