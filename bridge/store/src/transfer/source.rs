//! Reads the whole content of a store.

use std::sync::Arc;

use super::{Item, Transfer, TransferError, target::is_mark};
use crate::{Append, ExportStore, Result, Seq, StoreError, StoredEvent, TaskEntry, caller::Caller};

/// The number of tasks, records or events that are read at a time.
const PAGE: usize = 256;

/// The size up to which events of the same time are merged into one append.
const MAX_MERGED: usize = 1 << 20;

/// A store that is copied.
#[derive(Debug)]
pub struct StoreSource {
    store: Arc<dyn ExportStore>,
    place: String,
}

impl StoreSource {
    /// Reads a store; `place` names it in errors.
    pub fn new(store: Arc<dyn ExportStore>, place: impl Into<String>) -> Self {
        Self { store, place: place.into() }
    }

    /// Waits until no other process has the store open.
    ///
    /// # Errors
    /// `InUse` if other processes still have it open after a time limit.
    pub async fn wait_for_others(&self) -> Result<(), TransferError> {
        super::wait_for_others(&*self.store, &self.place).await
    }

    /// Copies all records, and then all tasks.
    pub(super) async fn copy_to(&self, copy: &mut Transfer<'_>) -> Result<(), TransferError> {
        let mut after = Vec::new();
        loop {
            let page = self.store.all_records(&after, PAGE).await;
            let page = page.map_err(|error| self.failed(error))?;
            copy.report.damaged_records += page.damaged;
            for record in page.records.into_iter().filter(|record| !is_mark(&record.key)) {
                copy.put(Item::Record(record)).await?;
            }
            let Some(last) = page.last else { break };
            after = last;
        }
        let mut after = Vec::new();
        loop {
            let page = self.store.all_tasks(&after, PAGE).await;
            let page = page.map_err(|error| self.failed(error))?;
            for entry in page.tasks {
                match entry {
                    TaskEntry::Intact(task, owner) => self.copy_task(&task, &owner, copy).await?,
                    TaskEntry::Damaged(task, reason) => {
                        copy.put(Item::Damaged(task, reason)).await?;
                    }
                }
            }
            let Some(last) = page.last else { return Ok(()) };
            after = last;
        }
    }

    async fn copy_task(
        &self,
        task: &str,
        owner: &Caller,
        copy: &mut Transfer<'_>,
    ) -> Result<(), TransferError> {
        let mut seen = 0;
        loop {
            let events = match self.read_page(owner, task, seen).await {
                Ok(events) => events,
                // The task was deleted meanwhile.
                Err(StoreError::NotFound { .. }) => return Ok(()),
                Err(StoreError::Damaged { task, reason }) => {
                    return copy.put(Item::Damaged(task, reason)).await;
                }
                Err(error) => return Err(self.failed(error)),
            };
            seen += events.len() as Seq;
            let is_last = events.len() < PAGE;
            for append in appends(task, events) {
                copy.put(Item::Append(owner.clone(), append)).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Reads the next events of a task. Before the first events are returned, all events are read and checked, so that no
    /// event of a damaged task gets into the copy.
    async fn read_page(&self, owner: &Caller, task: &str, seen: Seq) -> Result<Vec<StoredEvent>> {
        if seen > 0 {
            return self.read_checked(owner, task, seen).await;
        }
        let head = self.store.head(owner, task).await?;
        let events = self.read_checked(owner, task, 0).await?;
        let (mut end, mut length) = (events.len() as Seq, events.len());
        while length == PAGE {
            length = self.read_checked(owner, task, end).await?.len();
            end += length as Seq;
        }
        if end >= head.seq { Ok(events) } else { Err(missing(task)) }
    }

    async fn read_checked(
        &self,
        owner: &Caller,
        task: &str,
        seen: Seq,
    ) -> Result<Vec<StoredEvent>> {
        let events = self.store.read(owner, task, seen, PAGE).await?;
        let mut numbers = (seen + 1..).zip(&events);
        if numbers.all(|(seq, event)| event.seq == seq) { Ok(events) } else { Err(missing(task)) }
    }

    fn failed(&self, error: StoreError) -> TransferError {
        TransferError::Store { place: self.place.clone(), error }
    }
}

fn missing(task: &str) -> StoreError {
    StoreError::Damaged { task: task.to_owned(), reason: "events are missing".to_owned() }
}

/// Groups events into appends: events of the same time become one append up to a size. Readers cannot see the difference.
fn appends(task: &str, events: Vec<StoredEvent>) -> Vec<Append> {
    let mut appends: Vec<Append> = Vec::new();
    let mut size = 0;
    for StoredEvent { seq, time, event } in events {
        size += event.size();
        match appends.last_mut() {
            Some(append) if append.time == time && size <= MAX_MERGED => append.events.push(event),
            Some(_) | None => {
                size = event.size();
                appends.push(Append {
                    task: task.into(),
                    expected: seq - 1,
                    time,
                    events: vec![event],
                });
            }
        }
    }
    appends
}
