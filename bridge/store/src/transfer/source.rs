//! Reads the whole content of a store.

use std::{collections::VecDeque, sync::Arc};

use super::{Item, TransferError};
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
    pub(super) damaged_records: usize,
    stage: Stage,
    ready: VecDeque<Item>,
}

#[derive(Debug)]
enum Stage {
    Records(Vec<u8>),
    Tasks(Vec<u8>),
    Task { task: String, owner: Caller, seen: Seq, remaining: RemainingTasks },
    Done,
}

/// The remaining tasks of a page, and the position of its last task.
#[derive(Debug)]
struct RemainingTasks {
    tasks: VecDeque<TaskEntry>,
    last: Vec<u8>,
}

impl StoreSource {
    /// Reads a store; `place` names it in errors.
    pub fn new(store: Arc<dyn ExportStore>, place: impl Into<String>) -> Self {
        Self {
            store,
            place: place.into(),
            damaged_records: 0,
            stage: Stage::Records(Vec::new()),
            ready: VecDeque::new(),
        }
    }

    /// Waits until no other process has the store open.
    ///
    /// # Errors
    /// `InUse` if other processes still have it open after a time limit.
    pub async fn wait_for_others(&self) -> Result<(), TransferError> {
        super::wait_for_others(&*self.store, &self.place).await
    }

    pub(super) async fn next(&mut self) -> Result<Option<Item>, TransferError> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            let stage = std::mem::replace(&mut self.stage, Stage::Done);
            if let Stage::Done = stage {
                return Ok(None);
            }
            let next = self.read(stage).await;
            self.stage =
                next.map_err(|error| TransferError::Store { place: self.place.clone(), error })?;
        }
    }

    async fn read(&mut self, stage: Stage) -> Result<Stage> {
        match stage {
            Stage::Records(after) => {
                let page = self.store.all_records(&after, PAGE).await?;
                self.damaged_records += page.damaged;
                let records = page.records.into_iter();
                let own = records.filter(|record| !super::target::is_mark(&record.key));
                self.ready.extend(own.map(Item::Record));
                Ok(match page.last {
                    Some(last) => Stage::Records(last),
                    None => Stage::Tasks(Vec::new()),
                })
            }
            Stage::Tasks(after) => {
                let page = self.store.all_tasks(&after, PAGE).await?;
                let tasks = page.tasks.into();
                Ok(match page.last {
                    Some(last) => self.begin(RemainingTasks { tasks, last }),
                    None => Stage::Done,
                })
            }
            Stage::Task { task, owner, seen, remaining } => {
                self.read_task(task, owner, seen, remaining).await
            }
            Stage::Done => Ok(Stage::Done),
        }
    }

    /// Begins the next task that can be read.
    fn begin(&mut self, mut remaining: RemainingTasks) -> Stage {
        while let Some(next) = remaining.tasks.pop_front() {
            match next {
                TaskEntry::Intact(task, owner) => {
                    return Stage::Task { task, owner, seen: 0, remaining };
                }
                TaskEntry::Damaged(task, reason) => {
                    self.ready.push_back(Item::Damaged(task, reason));
                }
            }
        }
        Stage::Tasks(remaining.last)
    }

    async fn read_task(
        &mut self,
        task: String,
        owner: Caller,
        seen: Seq,
        remaining: RemainingTasks,
    ) -> Result<Stage> {
        let events = match self.read_page(&owner, &task, seen).await {
            Ok(events) => events,
            // The task was deleted meanwhile.
            Err(StoreError::NotFound { .. }) => Vec::new(),
            Err(StoreError::Damaged { task, reason }) => {
                self.ready.push_back(Item::Damaged(task, reason));
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let is_last = events.len() < PAGE;
        let last = events.last().map_or(seen, |event| event.seq);
        let appends = appends(&task, events);
        let items = appends.into_iter().map(|append| Item::Append(owner.clone(), append));
        self.ready.extend(items);
        Ok(match is_last {
            true => self.begin(remaining),
            false => Stage::Task { task, owner, seen: last, remaining },
        })
    }

    /// Reads the next events of a task. Before the first events are returned, all events are read and checked, so that no
    /// event of a damaged task gets into the copy.
    async fn read_page(&self, owner: &Caller, task: &str, seen: Seq) -> Result<Vec<StoredEvent>> {
        if seen > 0 {
            return self.read_checked(owner, task, seen).await;
        }
        let head = self.store.head(owner, task).await?;
        let events = self.read_checked(owner, task, 0).await?;
        let last = |events: &[StoredEvent]| events.last().map(|event| event.seq);
        let mut end = last(&events);
        let mut is_full = events.len() == PAGE;
        while let Some(after) = end.filter(|_| is_full) {
            let later = self.read_checked(owner, task, after).await?;
            is_full = later.len() == PAGE;
            end = last(&later).or(end);
        }
        if end >= Some(head.seq) { Ok(events) } else { Err(missing(task)) }
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
                    task: task.to_owned(),
                    expected: seq - 1,
                    time,
                    events: vec![event],
                });
            }
        }
    }
    appends
}
