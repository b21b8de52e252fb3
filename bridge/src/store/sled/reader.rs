//! Reads from the index and the log. Only the disk blocks these functions.

use std::{
    collections::BTreeMap,
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use super::{
    codec::{self, Appended},
    index::{Index, IndexInUse, Tip, TipState},
    keys::{self, IndexedTask, Key},
    log::{Log, LogOffset},
};
use crate::{
    caller::Caller,
    store::{EndedTasks, Head, Seq, StoreError, StoredEvent, list::ListPosition},
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
    /// It was deleted.
    Deleted,
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
            Some(TaskLookup::Deleted) | None => Err(StoreError::not_found(task)),
        }
    }

    pub(super) fn find(&self, task: &str) -> Result<Option<TaskLookup>, StoreError> {
        let mut looked_at = None;
        loop {
            if let Some(found) = self.find_in_memory(task) {
                return Ok(Some(found));
            }
            let Some(indexed) = self.index().indexed_task(task)? else {
                return Ok(None);
            };
            match self.tip_at(&indexed, task) {
                Ok(tip) => return Ok(Some(TaskLookup::Intact(tip))),
                // It may have been written anew meanwhile, and the segment removed.
                Err(StoreError::Corrupt { .. }) if looked_at != Some(indexed.offset) => {
                    looked_at = Some(indexed.offset);
                }
                Err(error @ StoreError::Corrupt { .. }) => {
                    return Ok(Some(self.damaged(task, Caller::new(indexed.owner), &error)));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the data that lists need of a task, whether it is damaged or not.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>, StoreError> {
        match self.index().tip(task) {
            Some(tip) => Ok(tip.unless_deleted().as_ref().map(IndexedTask::of)),
            None => self.index().indexed_task(task),
        }
    }

    /// Does the same as [`Reader::find`], without reading the disk.
    pub(super) fn find_in_memory(&self, task: &str) -> Option<TaskLookup> {
        let tip = self.index().tip(task)?;
        match tip.state {
            TipState::Intact => Some(TaskLookup::Intact(tip)),
            TipState::Deleted => Some(TaskLookup::Deleted),
            TipState::Broken => {
                let lost = StoreError::corrupt("its newest append", "it is lost");
                Some(self.damaged(task, tip.head.owner.clone(), &lost))
            }
        }
    }

    /// Returns the newest known append of the task, even if a later one is lost.
    pub(super) fn last_tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        if let Some(tip) = self.index().tip(task) {
            return Ok(tip.unless_deleted());
        }
        Ok(match self.find(task)? {
            Some(TaskLookup::Intact(tip)) => Some(tip),
            Some(TaskLookup::Damaged { .. } | TaskLookup::Deleted) | None => None,
        })
    }

    /// Returns the newest append of a task that is there, damaged or not. Of a damaged one only the owner, the agent, the
    /// state and its time may be known.
    pub(super) fn any_tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        if let Some(tip) = self.index().tip(task) {
            return Ok(tip.unless_deleted());
        }
        let Some(indexed) = self.index().indexed_task(task)? else {
            return Ok(None);
        };
        match self.tip_at(&indexed, task) {
            Ok(tip) => Ok(Some(tip)),
            Err(StoreError::Corrupt { .. }) => Ok(Some(indexed.broken_tip(task))),
            Err(error) => Err(error),
        }
    }

    fn tip_at(&self, indexed: &IndexedTask, task: &str) -> Result<Tip, StoreError> {
        let offset = indexed.offset;
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
            bytes: indexed.bytes,
            state: TipState::Intact,
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
                // It may have been written anew meanwhile, and the segment removed.
                if let Some(moved) = self.moved(tip)? {
                    return self.events(&moved, after, limit);
                }
                let (task, reason) = (tip.head.task.clone(), error.to_string());
                self.quarantine.add(&task, &reason);
                Err(StoreError::Damaged { task, reason })
            }
            read => read,
        }
    }

    /// The newest append of a task if that is another one now.
    fn moved(&self, tip: &Tip) -> Result<Option<Tip>, StoreError> {
        match self.find(&tip.head.task)? {
            Some(TaskLookup::Intact(now)) => Ok(Some(now).filter(|now| now.offset != tip.offset)),
            Some(TaskLookup::Damaged { .. }) => Ok(None),
            Some(TaskLookup::Deleted) | None => Err(StoreError::not_found(&tip.head.task)),
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
        self.since(keys::waiting(agent), after, until, limit)
    }

    /// Returns the heads of an agent's tasks that ended at `until` or before, the oldest first, after `after`.
    pub(super) fn ended(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.since(keys::ended(agent), after, until, limit)
    }

    /// Returns the heads of the tasks in a list that begins with the oldest, up to `until`.
    fn since(
        &self,
        list: Key,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let (millis, task) = (until.as_millisecond().saturating_add(1), String::new());
        let end = keys::in_order(list.clone(), &ListPosition { millis, task });
        let after = after.map(|after| keys::in_order(list.clone(), after));
        let entries = self.index().scan(list, after);
        let entries = entries.map(|entry| Ok(entry?.0));
        let is_due = |key: &Result<Key, StoreError>| key.as_ref().map_or(true, |key| *key < end);
        self.heads_of(entries.take_while(is_due), limit)
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

    /// Returns how many tasks of each agent have ended, and their size.
    pub(super) fn ended_counts(&self) -> Result<BTreeMap<String, EndedTasks>, StoreError> {
        let bytes = self.index().counts(&[keys::ENDED_BYTES])?;
        let mut counts = BTreeMap::new();
        for (key, tasks) in self.index().counts(&[keys::ENDED_COUNT])? {
            let of_bytes = [&[keys::ENDED_BYTES], &key[1..]].concat();
            let bytes = bytes.get(&of_bytes).map_or(0, |bytes| *bytes as u64);
            if tasks > 0 {
                counts.insert(keys::agent(&key)?, EndedTasks { tasks, bytes });
            }
        }
        Ok(counts)
    }

    /// Returns the records whose keys begin with `prefix`, with their ids, without damaged records.
    pub(super) fn records(&self, prefix: Key) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut records = Vec::new();
        for entry in self.index().scan(prefix, None) {
            let (key, offset) = entry?;
            match keys::read(&offset).and_then(|offset| self.record(&key, offset)) {
                Ok(Some(value)) => records.push((keys::last(&key)?, value)),
                Ok(None) => {}
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(%error, "a small record is left out, since it is damaged");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// Returns the value of a small record.
    pub(super) fn record(
        &self,
        key: &[u8],
        offset: LogOffset,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let error = match self.value(offset) {
            Err(error @ StoreError::Corrupt { .. }) => error,
            read => return read.map(Some),
        };
        // It may have been written anew meanwhile, and the segment removed.
        let now = self.index().get(key)?;
        match now.as_deref().map(keys::read).transpose()? {
            None => Ok(None),
            Some(now) if now == offset => Err(error),
            Some(now) => self.value(now).map(Some),
        }
    }

    /// The value that stands at this place.
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

    pub(super) fn remove(&self, task: &str) {
        self.lock().remove(task);
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
