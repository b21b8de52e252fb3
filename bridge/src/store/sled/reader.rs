//! Reads from the index and the log. Only the disk blocks these functions.

use std::{
    collections::BTreeMap,
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use super::{
    codec::{self, Appended},
    index::{Index, IndexInUse, Tip},
    keys::{self, IndexedTask, Key},
    log::{Log, LogOffset},
};
use crate::{
    caller::Caller,
    store::{Head, Seq, StoreError, StoredEvent, list::ListPosition},
};

/// The index contains the position of every append whose number is a multiple of this. The others are found by going
/// back from append to append.
pub(super) const STRIDE: u32 = 32;

/// Everything that is durable.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) index: IndexInUse,
    pub(super) log: Arc<Log>,
    pub(super) quarantine: Arc<Quarantine>,
    /// The folder's lock. It is dropped last, so that no other process opens the folder while somebody reads.
    pub(super) _lock: Arc<File>,
}

/// The damaged tasks that were found, with the reason for each. They are not continued. Each is logged once.
#[derive(Debug, Default)]
pub(super) struct Quarantine(Mutex<BTreeMap<String, String>>);

/// A task that was found in the index.
#[derive(Debug)]
pub(super) enum TaskLookup {
    /// Its newest append.
    Intact(Tip),
    /// Its newest append cannot be read.
    Damaged { owner: Caller, reason: String },
}

impl Reader {
    pub(super) fn index(&self) -> Arc<Index> {
        self.index.now()
    }

    /// Returns the task's newest append, of any owner.
    pub(super) fn owner(&self, task: &str) -> Result<Caller, StoreError> {
        match self.find(task)? {
            Some(TaskLookup::Intact(tip)) => Ok(tip.head.owner.clone()),
            Some(TaskLookup::Damaged { owner, .. }) => Ok(owner),
            None => Err(StoreError::not_found(task)),
        }
    }

    pub(super) fn find(&self, task: &str) -> Result<Option<TaskLookup>, StoreError> {
        if let Some(found) = self.find_in_memory(task) {
            return Ok(Some(found));
        }
        let Some(indexed) = self.index().indexed_task(task)? else {
            return Ok(None);
        };
        match self.tip_at(indexed.offset, task) {
            Ok(tip) => Ok(Some(TaskLookup::Intact(tip))),
            Err(error @ StoreError::Corrupt { .. }) => {
                Ok(Some(self.damaged(task, Caller::new(indexed.owner), &error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the data that lists need of a task, whether it is damaged or not.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>, StoreError> {
        match self.index().tip(task) {
            Some(tip) => Ok(Some(IndexedTask::of(&tip))),
            None => self.index().indexed_task(task),
        }
    }

    /// Does the same as [`Reader::find`], without reading the disk.
    pub(super) fn find_in_memory(&self, task: &str) -> Option<TaskLookup> {
        let tip = self.index().tip(task)?;
        if !tip.is_broken {
            return Some(TaskLookup::Intact(tip));
        }
        let lost = StoreError::corrupt("its newest append", "it is lost");
        Some(self.damaged(task, tip.head.owner.clone(), &lost))
    }

    /// Returns the newest known append of the task, even if a later one is lost.
    pub(super) fn last_tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        if let Some(tip) = self.index().tip(task) {
            return Ok(Some(tip));
        }
        Ok(match self.find(task)? {
            Some(TaskLookup::Intact(tip)) => Some(tip),
            Some(TaskLookup::Damaged { .. }) | None => None,
        })
    }

    fn tip_at(&self, offset: LogOffset, task: &str) -> Result<Tip, StoreError> {
        let record = self.log.read(offset)?;
        let append = Appended::open(&record)?;
        let head = append.head()?;
        if head.task != task {
            let reason = "it is of another task";
            return Err(StoreError::corrupt("a record of the log", reason));
        }
        Ok(Tip {
            head: Arc::new(head),
            offset,
            number: append.number,
            is_broken: false,
        })
    }

    fn damaged(&self, task: &str, owner: Caller, error: &StoreError) -> TaskLookup {
        let reason = error.to_string();
        self.quarantine.add(task, &reason);
        TaskLookup::Damaged { owner, reason }
    }

    /// Returns at most `limit` events after `after`. If some of them cannot be read, the task counts as damaged from
    /// then on.
    pub(super) fn events(
        &self,
        tip: &Tip,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        match self.read_events(tip, after, limit) {
            Err(error @ StoreError::Corrupt { .. }) => {
                let (task, reason) = (tip.head.task.clone(), error.to_string());
                self.quarantine.add(&task, &reason);
                Err(StoreError::Damaged { task, reason })
            }
            read => read,
        }
    }

    fn read_events(
        &self,
        tip: &Tip,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let wanted = after.saturating_add(limit as Seq).min(tip.head.seq);
        let mut appends = Vec::new();
        let mut next = match wanted > after {
            true => Some(self.from(tip, wanted)?),
            false => None,
        };
        let mut covered = None;
        while let Some(offset) = next {
            let record = self.log.read(offset)?;
            let append = Appended::open(&record)?;
            // A loss in the middle of the log must be noticed.
            let is_gap = covered.is_some_and(|covered| append.last + 1 != covered);
            if is_gap || (append.first() > 1 && append.previous.is_none()) {
                let reason = format!("the events before {} are missing", append.first());
                return Err(StoreError::corrupt(
                    format!("task {}", tip.head.task),
                    &reason,
                ));
            }
            if append.first() <= wanted {
                appends.push(append.events()?);
            }
            covered = Some(append.first());
            next = append.previous.filter(|_| append.first() > after + 1);
        }
        let events = appends.into_iter().rev().flatten();
        let events = events.filter(|stored| stored.seq > after);
        Ok(events.take(limit).collect())
    }

    /// Returns the append from which to go back in order to find event `wanted`.
    fn from(&self, tip: &Tip, wanted: Seq) -> Result<LogOffset, StoreError> {
        if tip.number < STRIDE || wanted == tip.head.seq {
            return Ok(tip.offset);
        }
        let prefix = keys::appends(&tip.head.task);
        let before = keys::append(&tip.head.task, wanted - 1);
        match self.index().scan(prefix, Some(before)).next().transpose()? {
            Some((_, offset)) => keys::read(&offset),
            None => Ok(tip.offset),
        }
    }

    /// Returns the heads of tasks with turns that have not ended, of all owners.
    pub(super) fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let turns = self.index().scan(vec![keys::TURN], Some(keys::turn(after)));
        self.heads_of(turns.map(|entry| Ok(entry?.0)), limit)
    }

    /// Returns the heads of an agent's tasks that have waited since `until` or longer, the longest waiting first, after
    /// `after`.
    pub(super) fn waiting(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let (millis, task) = (until.as_millisecond() + 1, String::new());
        let end = keys::in_waiting(agent, &ListPosition { millis, task });
        let after = after.map(|after| keys::in_waiting(agent, after));
        let waiting = self.index().scan(keys::waiting(agent), after);
        let waiting = waiting.map(|entry| Ok(entry?.0));
        let is_due = |key: &Result<Key, StoreError>| key.as_ref().map_or(true, |key| *key < end);
        self.heads_of(waiting.take_while(is_due), limit)
    }

    /// Returns the heads of the tasks in a list, without damaged tasks.
    fn heads_of(
        &self,
        mut list: impl Iterator<Item = Result<Key, StoreError>>,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let mut heads = Vec::new();
        while heads.len() < limit
            && let Some(key) = list.next()
        {
            if let Some(TaskLookup::Intact(tip)) = self.find(&keys::last(&key?)?)? {
                heads.push(Arc::unwrap_or_clone(tip.head));
            }
        }
        Ok(heads)
    }

    /// Returns the number of tasks of each agent that are not in a terminal state.
    pub(super) fn open_counts(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        let counts = self.index().counts(&[keys::OPEN])?.into_iter();
        let counts = counts.filter(|(_, count)| *count > 0);
        counts
            .map(|(key, count)| Ok((keys::agent(&key)?, count)))
            .collect()
    }

    /// Returns the records whose keys begin with `prefix`, with their ids, without damaged records.
    pub(super) fn records(&self, prefix: Key) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut records = Vec::new();
        for entry in self.index().scan(prefix, None) {
            let (key, offset) = entry?;
            match keys::read(&offset).and_then(|offset| self.value(offset)) {
                Ok(value) => records.push((keys::last(&key)?, value)),
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(%error, "a small record is left out, since it is damaged");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// Returns the value of a small record.
    pub(super) fn value(&self, offset: LogOffset) -> Result<Vec<u8>, StoreError> {
        codec::small_value(&self.log.read(offset)?)
    }
}

impl Quarantine {
    fn add(&self, task: &str, reason: &str) {
        self.lock().entry(task.to_owned()).or_insert_with(|| {
            tracing::error!(task, "a task is damaged, all others are served: {reason}");
            reason.to_owned()
        });
    }

    pub(super) fn reason(&self, task: &str) -> Option<String> {
        self.lock().get(task).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
