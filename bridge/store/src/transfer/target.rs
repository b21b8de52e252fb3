//! Writes a copy into a store, and reads it back.
//!
//! While a copy is not finished, a record marks it: a bridge does not serve it, and the same copy may go on.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{Item, TransferError, TransferReport};
use crate::{
    Append, Event, ExportStore, RecordEntry, RecordKey, Seq, Store, StoreError, StoredEvent,
    caller::Caller,
};

/// The number of tasks that are written at the same time.
const TOGETHER: usize = 64;

/// The number of appends that wait to be written, and the size of their events.
const WAITING: usize = 1_024;
const WAITING_SIZE: usize = 16 << 20;

/// The kind of the record that marks an unfinished copy.
const MARK: &str = "unfinished-copy";

fn mark() -> RecordKey {
    RecordKey {
        kind: MARK.to_owned(),
        scope: String::new(),
        id: String::new(),
    }
}

pub(super) fn is_mark(key: &RecordKey) -> bool {
    key.kind == MARK
}

/// Returns the source of the unfinished copy that the store is, if it is one.
///
/// # Errors
/// If the store fails.
pub async fn is_unfinished(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let found = store.record(&Caller::anonymous(), &mark()).await?;
    Ok(found.map(|source| String::from_utf8_lossy(&source).into_owned()))
}

/// A store that becomes a copy.
#[derive(Debug)]
pub struct StoreTarget {
    store: Arc<dyn ExportStore>,
    place: String,
    /// Appends by task, in order.
    waiting: Vec<(Caller, Vec<Append>)>,
    count: usize,
    size: usize,
}

impl StoreTarget {
    /// Begins or continues a copy of `source`, which is a name.
    ///
    /// # Errors
    /// `NotEmpty` if there is anything else than an unfinished copy of the same source, `InUse`.
    pub async fn begin(
        store: Arc<dyn ExportStore>,
        place: impl Into<String>,
        source: &str,
    ) -> Result<Self, TransferError> {
        let target = Self {
            store,
            place: place.into(),
            waiting: Vec::new(),
            count: 0,
            size: 0,
        };
        super::wait_for_others(&*target.store, &target.place).await?;
        let found = target.checked(is_unfinished(&*target.store).await)?;
        let is_resumed = found.as_deref() == Some(source);
        if !is_resumed && (found.is_some() || !target.is_empty().await?) {
            let place = target.place;
            return Err(TransferError::NotEmpty { place, found });
        }
        let name = source.as_bytes().to_vec();
        let (owner, mark) = (Caller::anonymous(), mark());
        let put = target.store.put_record(&owner, &mark, name).await;
        target.checked(put)?;
        Ok(target)
    }

    async fn is_empty(&self) -> Result<bool, TransferError> {
        let tasks = self.checked(self.store.all_tasks(&[], 1).await)?;
        let records = self.checked(self.store.all_records(&[], 1).await)?;
        Ok(tasks.last.is_none() && records.last.is_none())
    }

    pub(super) async fn put(&mut self, item: Item) -> Result<(), TransferError> {
        match item {
            Item::Damaged(..) => Ok(()),
            Item::Record(record) => self.put_record(record).await,
            Item::Append(owner, append) => {
                self.count += 1;
                self.size += append.events.iter().map(Event::size).sum::<usize>();
                match self.waiting.last_mut() {
                    Some((_, appends)) if appends[0].task == append.task => appends.push(append),
                    Some(_) | None => self.waiting.push((owner, vec![append])),
                }
                match self.count >= WAITING || self.size >= WAITING_SIZE {
                    true => self.write().await,
                    false => Ok(()),
                }
            }
        }
    }

    async fn put_record(&self, record: RecordEntry) -> Result<(), TransferError> {
        let RecordEntry { owner, key, value } = record;
        let put = self.store.put_record(&owner, &key, value.clone()).await;
        self.checked(put)?;
        let copied = self.checked(self.store.record(&owner, &key).await)?;
        match copied.as_ref() == Some(&value) {
            true => Ok(()),
            // The id may be a secret.
            false => Err(self.differs(format!("a record of the kind {}", key.kind))),
        }
    }

    /// Writes what waits, and checks it.
    async fn write(&mut self) -> Result<(), TransferError> {
        (self.count, self.size) = (0, 0);
        let waiting = std::mem::take(&mut self.waiting);
        let this = &*self;
        let writes = stream::iter(waiting)
            .map(|(owner, appends)| async move { this.write_task(&owner, appends).await });
        writes.buffer_unordered(TOGETHER).try_collect().await
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
            Err(error) => return self.checked(Err(error)),
        };
        for append in appends {
            if let Some(rest) = rest(append, seq) {
                seq = rest.last();
                self.checked(self.store.append(owner, rest).await)?;
            }
        }
        let read = self.store.read(owner, &task, before, expected.len());
        if self.checked(read.await)? != expected {
            return Err(self.differs(format!("task {task}")));
        }
        self.check_ids(owner, &task, &expected).await
    }

    /// Checks that the task is found by the ids that its caller gave.
    async fn check_ids(
        &self,
        owner: &Caller,
        task: &str,
        events: &[StoredEvent],
    ) -> Result<(), TransferError> {
        let agent = &self.checked(self.store.head(owner, task).await)?.agent;
        for StoredEvent { seq, event, .. } in events {
            let is_found = match event {
                Event::Message(message) => {
                    let id = &message.message_id;
                    let found = self.store.find_message(owner, agent, id).await;
                    self.checked(found)? == Some((task.to_owned(), *seq))
                }
                Event::Created(created) => match &created.client_id {
                    Some(id) => {
                        let found = self.store.find_client_task(owner, agent, id).await;
                        self.checked(found)?.as_deref() == Some(task)
                    }
                    None => true,
                },
                Event::Said(_)
                | Event::TurnQueued { .. }
                | Event::TurnStarted { .. }
                | Event::TurnEnded { .. }
                | Event::Status { .. }
                | Event::Artifact { .. }
                | Event::Metadata { .. } => true,
            };
            if !is_found {
                return Err(self.differs(format!("an id of task {task}")));
            }
        }
        Ok(())
    }

    /// Writes the rest, checks that nothing is there besides, and removes the mark.
    pub(super) async fn finish(&mut self, report: &TransferReport) -> Result<(), TransferError> {
        self.write().await?;
        let (mut after, mut tasks) = (Vec::new(), 0);
        loop {
            let page = self.checked(self.store.all_tasks(&after, WAITING).await)?;
            tasks += page.tasks.len();
            let Some(last) = page.last else { break };
            after = last;
        }
        if tasks != report.tasks {
            return Err(self.differs(format!("the number of tasks, {tasks},")));
        }
        let (owner, mark) = (Caller::anonymous(), mark());
        let removed = self.store.delete_record(&owner, &mark).await;
        self.checked(removed).map(drop)
    }

    fn checked<T>(&self, done: Result<T, StoreError>) -> Result<T, TransferError> {
        done.map_err(|error| TransferError::Store {
            place: self.place.clone(),
            error,
        })
    }

    fn differs(&self, what: String) -> TransferError {
        TransferError::Different {
            place: self.place.clone(),
            what,
        }
    }
}

/// What of an append is not in a task with so many events.
fn rest(mut append: Append, seq: Seq) -> Option<Append> {
    let known = usize::try_from(seq.saturating_sub(append.expected)).unwrap_or(usize::MAX);
    if known >= append.events.len() {
        return None;
    }
    append.events.drain(..known);
    append.expected += known as u64;
    Some(append)
}
