//! Reads from the index and the log. Only the disk blocks these functions.

use std::{collections::BTreeMap, fs::File, sync::Arc};

use jiff::Timestamp;

use super::{
    codec::{self, Appended},
    index::{Index, IndexInUse},
    keys::{self, IndexedTask, Key, Order},
    log::{Log, LogOffset},
    tip::{Tip, TipState},
};
use crate::{
    EndedTasks, Head, Seq, StoreError, StoredEvent, caller::Caller, list::ListPosition,
    quarantine::Quarantine,
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

impl Reader {
    pub(super) fn index(&self) -> Arc<Index> {
        self.index.now()
    }

    pub(super) fn owner(&self, task: &str) -> Result<Caller, StoreError> {
        let tip = self.find(task)?;
        let tip = tip.ok_or_else(|| StoreError::not_found(task))?;
        Ok(tip.head.owner.clone())
    }

    /// Returns the newest append of a task that is there. If it cannot be read the tip is broken, and only the owner, the
    /// agent, the state and its time may be known.
    pub(super) fn find(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        let mut looked_at = None;
        loop {
            if let Some(found) = self.find_in_memory(task) {
                return Ok(found);
            }
            let Some(indexed) = self.index().indexed_task(task)? else {
                return Ok(None);
            };
            match self.tip_at(&indexed, task) {
                // It may have been written anew meanwhile, and the segment removed.
                Err(StoreError::Corrupt { .. }) if looked_at != Some(indexed.offset) => {
                    looked_at = Some(indexed.offset);
                }
                Err(error @ StoreError::Corrupt { .. }) => {
                    self.quarantine.add(task, &error.to_string());
                    return Ok(Some(indexed.broken_tip(task)));
                }
                read => return read.map(Some),
            }
        }
    }

    /// Does the same without reading the disk; `None` if that has to be read.
    pub(super) fn find_in_memory(&self, task: &str) -> Option<Option<Tip>> {
        Some(self.index().tip(task)?.unless_deleted())
    }

    /// Returns the data that lists need of a task, whether it is damaged or not.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>, StoreError> {
        match self.find_in_memory(task) {
            Some(found) => Ok(found.as_ref().map(IndexedTask::of)),
            None => self.index().indexed_task(task),
        }
    }

    /// Returns the tip unless it is broken.
    pub(super) fn intact(&self, tip: Tip) -> Result<Tip, StoreError> {
        match tip.state {
            TipState::Broken => Err(self.damaged(&tip.head.task)),
            TipState::Intact | TipState::Deleted => Ok(tip),
        }
    }

    /// Counts a task whose newest append is lost as damaged.
    pub(super) fn damaged(&self, task: &str) -> StoreError {
        let lost = StoreError::corrupt("its newest append", "it is lost");
        self.damaged_by(task, &lost)
    }

    /// Counts a task as damaged, and returns the error with the reason that was found first.
    fn damaged_by(&self, task: &str, error: &StoreError) -> StoreError {
        StoreError::Damaged {
            reason: self.quarantine.add(task, &error.to_string()),
            task: task.into(),
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
                Err(self.damaged_by(&tip.head.task, &error))
            }
            read => read,
        }
    }

    /// The newest append of a task if that is another one now.
    fn moved(&self, tip: &Tip) -> Result<Option<Tip>, StoreError> {
        let task = &tip.head.task;
        let now = self
            .find(task)?
            .ok_or_else(|| StoreError::not_found(task))?;
        let is_moved = now.state == TipState::Intact && now.offset != tip.offset;
        Ok(is_moved.then_some(now))
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

    /// Returns the heads of the tasks in a list that begins with the oldest, after `after` and up to `until`.
    pub(super) fn since(
        &self,
        list: Key,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let behind = until.as_millisecond().saturating_add(1);
        let end = keys::start_of_time(&list, Order::OldestFirst, behind);
        let after = after.map(|after| keys::in_order(list.clone(), after));
        let entries = self.index().scan_before(list, after, Some(end));
        self.heads_of(entries.map(|entry| Ok(entry?.0)), limit)
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
            if let Some(tip) = self.find(&keys::last(&key?)?)?
                && let Ok(tip) = self.intact(tip)
            {
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

    /// Returns whether there is a small record whose key begins with `prefix`.
    pub(super) fn has_record(&self, prefix: Key) -> Result<bool, StoreError> {
        Ok(self
            .index()
            .scan(prefix, None)
            .next()
            .transpose()?
            .is_some())
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
