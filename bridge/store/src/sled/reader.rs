//! Reads from the index and the log. These functions only block on the disk.

use std::{collections::BTreeMap, fs::File, sync::Arc};

use jiff::Timestamp;

use super::{
    codec::{self, LoggedAppend},
    index::{CurrentIndex, Index},
    keys::{self, IndexedTask, Key, Order},
    latest_append::{DataState, LatestAppend},
    log::{Log, LogOffset},
};
use crate::{
    Head, ListPosition, ListQuery, Result, Seq, StoreError, StoredEvent, TaskCounts,
    caller::Caller, damage::Quarantine,
};

/// The index has the offset of every append whose number is a multiple of this. The others are found through the previous
/// offsets of later appends.
pub(super) const STRIDE: u32 = 32;

/// Reads durable data.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) index: CurrentIndex,
    pub(super) log: Arc<Log>,
    pub(super) quarantine: Arc<Quarantine>,
    /// The lock of the folder. It is dropped last, so that no other process opens the folder while this one reads it.
    pub(super) _lock: Arc<File>,
}

impl Reader {
    pub(super) fn index(&self) -> Arc<Index> {
        self.index.get()
    }

    /// Returns the latest append of an existing task. If it cannot be read, its state is damaged, and its head may only have
    /// the owner, the agent, the state and its time.
    pub(super) fn find(&self, task: &str) -> Result<Option<LatestAppend>> {
        let mut tried = None;
        loop {
            if let Some(found) = self.find_in_memory(task) {
                return Ok(found);
            }
            let Some(indexed) = self.index().indexed_task(task)? else {
                return Ok(None);
            };
            match self.read_latest(&indexed, task) {
                // The task may have been copied meanwhile, and the segment removed.
                Err(StoreError::Corrupt { .. }) if tried != Some(indexed.offset) => {
                    tried = Some(indexed.offset);
                }
                Err(error @ StoreError::Corrupt { .. }) => {
                    self.quarantine.add(task, &error.to_string());
                    return Ok(Some(indexed.damaged_append(task)));
                }
                read => return read.map(Some),
            }
        }
    }

    /// Does the same without the disk; `None` if the disk must be read.
    pub(super) fn find_in_memory(&self, task: &str) -> Option<Option<LatestAppend>> {
        Some(self.index().latest(task)?.unless_deleted())
    }

    /// Returns the entry of a task in the index, whether it is damaged or not.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>> {
        match self.find_in_memory(task) {
            Some(found) => Ok(found.as_ref().map(IndexedTask::of)),
            None => self.index().indexed_task(task),
        }
    }

    /// Returns the append unless the task is damaged.
    pub(super) fn intact(&self, latest: LatestAppend) -> Result<LatestAppend> {
        match latest.state {
            DataState::Damaged => Err(self.quarantine_lost(&latest.head.task)),
            DataState::Intact | DataState::Deleted => Ok(latest),
        }
    }

    /// Quarantines a task whose latest append is lost, and returns the error.
    pub(super) fn quarantine_lost(&self, task: &str) -> StoreError {
        let lost = StoreError::corrupt("its newest append", "it is lost");
        self.quarantine(task, &lost)
    }

    /// Quarantines a task, and returns the error with the reason that was found first.
    fn quarantine(&self, task: &str, error: &StoreError) -> StoreError {
        StoreError::Damaged {
            reason: self.quarantine.add(task, &error.to_string()),
            task: task.into(),
        }
    }

    fn read_latest(&self, indexed: &IndexedTask, task: &str) -> Result<LatestAppend> {
        let offset = indexed.offset;
        let record = self.log.read(offset)?;
        let append = LoggedAppend::open(&record)?;
        let head = append.head()?;
        if *head.task != *task {
            let reason = "it is of another task";
            return Err(StoreError::corrupt("a record of the log", reason));
        }
        Ok(LatestAppend {
            head: Arc::new(head),
            offset,
            number: append.number,
            bytes: indexed.bytes,
            state: DataState::Intact,
        })
    }

    /// Returns at most `limit` events after `after`. If one of them cannot be read, the task is quarantined.
    pub(super) fn events(
        &self,
        latest: &LatestAppend,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        match self.read_events(latest, after, limit) {
            Err(error @ StoreError::Corrupt { .. }) => {
                // The task may have been copied meanwhile, and the segment removed.
                if let Some(moved_append) = self.moved_append(latest)? {
                    return self.events(&moved_append, after, limit);
                }
                Err(self.quarantine(&latest.head.task, &error))
            }
            read => read,
        }
    }

    /// Returns the latest append of a task if it is at another offset now.
    fn moved_append(&self, latest: &LatestAppend) -> Result<Option<LatestAppend>> {
        let task = &latest.head.task;
        let now = self.find(task)?.ok_or_else(|| StoreError::not_found(task))?;
        let is_moved = now.state == DataState::Intact && now.offset != latest.offset;
        Ok(is_moved.then_some(now))
    }

    fn read_events(
        &self,
        latest: &LatestAppend,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>> {
        let wanted = after.saturating_add(limit as Seq).min(latest.head.seq);
        let mut appends = Vec::new();
        let mut next = if wanted > after { Some(self.search_start(latest, wanted)?) } else { None };
        let mut covered = None;
        while let Some(offset) = next {
            let record = self.log.read(offset)?;
            let append = LoggedAppend::open(&record)?;
            // Lost events in the middle of a task must be detected.
            let is_gap = covered.is_some_and(|covered| append.last + 1 != covered);
            if is_gap || (append.first() > 1 && append.previous.is_none()) {
                let reason = format!("the events before {} are missing", append.first());
                return Err(StoreError::corrupt(format!("task {}", latest.head.task), &reason));
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

    /// Returns the offset of an indexed append at or after event `wanted`, from which earlier appends are read.
    fn search_start(&self, latest: &LatestAppend, wanted: Seq) -> Result<LogOffset> {
        if latest.number < STRIDE || wanted == latest.head.seq {
            return Ok(latest.offset);
        }
        let prefix = keys::appends(&latest.head.task);
        let before = keys::append(&latest.head.task, wanted - 1);
        match self.index().scan(prefix, Some(before)).next().transpose()? {
            Some((_, offset)) => keys::read(&offset),
            None => Ok(latest.offset),
        }
    }

    /// Returns the heads of tasks of all callers with open turns.
    pub(super) fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>> {
        let turns = self.index().scan(vec![keys::TURN], Some(keys::turn(after)));
        self.heads_of(turns.map(|entry| Ok(entry?.0)), limit)
    }

    /// Returns the heads of the tasks in a list that begins with the oldest task, after `after` and up to `until`.
    pub(super) fn heads_until(
        &self,
        list: Key,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>> {
        let behind = until.as_millisecond().saturating_add(1);
        let end = keys::start_of_time(&list, Order::OldestFirst, behind);
        let after = after.map(|after| keys::ordered_key(list.clone(), Order::OldestFirst, after));
        let entries = self.index().scan_before(list, after, Some(end));
        self.heads_of(entries.map(|entry| Ok(entry?.0)), limit)
    }

    /// Returns the heads of the tasks in a list, without damaged tasks.
    fn heads_of(
        &self,
        mut list: impl Iterator<Item = Result<Key>>,
        limit: usize,
    ) -> Result<Vec<Head>> {
        let mut heads = Vec::new();
        while heads.len() < limit
            && let Some(key) = list.next()
        {
            if let Some(latest) = self.find(&keys::last_name(&key?)?)?
                && let Ok(latest) = self.intact(latest)
            {
                heads.push(Arc::unwrap_or_clone(latest.head));
            }
        }
        Ok(heads)
    }

    /// Returns the positions of the tasks of a page, one more than it has if there are so many, and the number of tasks on
    /// all pages.
    pub(super) fn page_positions(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<(Vec<ListPosition>, usize)> {
        let (agent, context) = (&query.agent, query.context_id.as_deref());
        let from = query.start(|position| {
            // The last task of the previous page may be damaged, so only the index is read.
            let indexed = self.indexed_task(&position.task)?;
            Ok(indexed.is_some_and(|task| task.owner == caller.id && *task.agent == **agent))
        })?;
        let (mut found, mut total) = (Vec::new(), 0);
        let state = query.state.as_ref().map(|state| state.as_str());
        // The list of each state begins with the positions that the page may have.
        for (count, tasks) in self.index().counts(&keys::states(caller, agent, context, state))? {
            let list = keys::counted_list(&count);
            for place in self.state_list(&list, from.as_ref(), query).take(query.page_size + 1) {
                found.push(place?);
            }
            total += match query.after {
                Some(_) if query.known_total.is_some() => 0,
                Some(_) => self.state_list(&list, None, query).count(),
                None => tasks,
            };
        }
        found.sort();
        Ok((found, query.known_total.unwrap_or(total)))
    }

    /// Returns the positions in a state list after `from` whose times the query includes.
    fn state_list(
        &self,
        list: &Key,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> impl Iterator<Item = Result<ListPosition>> {
        let after = from.map(|from| keys::ordered_key(list.clone(), Order::NewestFirst, from));
        let entries = self.index().scan(list.clone(), after);
        let page_positions = entries.map(|entry| keys::position(&entry?.0));
        page_positions.take_while(|place| {
            let millis = place.as_ref().map(|place| place.millis);
            millis.map_or(true, |millis| query.includes_time(millis))
        })
    }

    /// Returns the counts of each agent's tasks.
    pub(super) fn counts(&self) -> Result<BTreeMap<String, TaskCounts>> {
        let mut counts = BTreeMap::<String, TaskCounts>::new();
        for kind in [keys::OPEN, keys::ENDED_COUNT, keys::ENDED_BYTES] {
            for (key, count) in self.index().counts(&[kind])? {
                let TaskCounts { open, ended } = counts.entry(keys::agent(&key)?).or_default();
                match kind {
                    keys::OPEN => *open = count,
                    keys::ENDED_COUNT => ended.tasks = count,
                    _ => ended.bytes = count as u64,
                }
            }
        }
        counts.retain(|_, counts| counts.open > 0 || counts.ended.tasks > 0);
        Ok(counts)
    }

    /// Returns the records whose keys begin with `prefix`, with their ids, without damaged records.
    pub(super) fn records(&self, prefix: Key) -> Result<Vec<(String, Vec<u8>)>> {
        let mut records = Vec::new();
        for entry in self.index().scan(prefix, None) {
            let (key, offset) = entry?;
            match keys::read(&offset).and_then(|offset| self.record(&key, offset)) {
                Ok(Some(value)) => records.push((keys::last_name(&key)?, value)),
                Ok(None) => {}
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(%error, "a small record is left out because it is damaged");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// Returns the value of a small record.
    pub(super) fn record(&self, key: &[u8], offset: LogOffset) -> Result<Option<Vec<u8>>> {
        let error = match self.value(offset) {
            Err(error @ StoreError::Corrupt { .. }) => error,
            read => return read.map(Some),
        };
        // The record may have been copied meanwhile, and the segment removed.
        let now = self.index().get(key)?;
        match now.as_deref().map(keys::read).transpose()? {
            None => Ok(None),
            Some(now) if now == offset => Err(error),
            Some(now) => self.value(now).map(Some),
        }
    }

    /// Returns the value of the small record at an offset.
    pub(super) fn value(&self, offset: LogOffset) -> Result<Vec<u8>> {
        codec::small_value(&self.log.read(offset)?)
    }
}
