//! A batch that is being prepared. Later jobs of the batch see the changes of earlier ones.

use std::sync::Arc;

use super::{
    codec::{self, LoggedAppend},
    index::Changes,
    keys::{self, Key},
    latest_append::{DataState, LatestAppend, TaskCopy},
    log::{FRAME, LogOffset, Writer},
    reader::{Reader, STRIDE},
};
use crate::{Append, Deletion, Head, Result, Seq, StoreError, caller::Caller};

/// The largest size of a head in bytes. Clients choose its ids, each of which can be part of a key.
const HEAD_LIMIT: usize = 16 << 10;

/// A batch of records of the log, with the changes of the index that result from them.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    reader: &'a Reader,
    pub(super) changes: Changes,
}

/// An append that is ready to be committed, with its events as JSON.
#[derive(Debug)]
pub(super) struct PreparedAppend {
    pub(super) caller: Caller,
    pub(super) append: Append,
    pub(super) json: Vec<u8>,
    /// The index keys of the messages.
    pub(super) messages: Vec<Key>,
}

/// The data of a record of the log that the index needs.
#[derive(Debug)]
pub(super) enum ReplayedRecord {
    Append {
        latest: LatestAppend,
        /// Whether it is the first append of the task.
        is_first: bool,
        messages: Vec<(Key, Seq)>,
    },
    /// A copy of an append.
    Copy {
        latest: LatestAppend,
        /// Whether it is the last copy of the task.
        is_last: bool,
        messages: Vec<(Key, Seq)>,
    },
    /// A task was deleted.
    Deleted(String),
    /// A small record was stored at an offset, or removed.
    Small(Key, Option<LogOffset>),
    /// An append that cannot be read, with its task, and its head if it is known.
    Lost(LogOffset, Arc<str>, Option<Arc<Head>>),
}

impl<'a> Draft<'a> {
    /// Creates an empty batch on top of the durable state.
    pub(super) fn new(reader: &'a Reader) -> Self {
        Self { reader, changes: Changes::default() }
    }

    /// Adds an append. After an error nothing of it is written.
    pub(super) fn append(
        &mut self,
        prepared: &PreparedAppend,
        log: &mut Writer,
    ) -> Result<Arc<Head>> {
        let append = &prepared.append;
        let before = self.latest_for_append(&prepared.caller, &append.task)?;
        let known = before.as_ref().map(|before| before.head.as_ref());
        let after = Arc::new(Head::after(known, &prepared.caller, append)?);
        self.check_client_id(&after, append)?;
        self.check_messages(prepared)?;
        let json = codec::head_json(&after)?;
        let ids = || format!("the ids and open turns of task {}", after.task);
        StoreError::check_size(json.len(), HEAD_LIMIT, ids)?;
        let number = before.as_ref().map_or(1, |before| before.number + 1);
        let previous = before.as_ref().map(|before| before.offset);
        let offset = log.put(|to| {
            codec::write_append(to, append, number, previous, &json, &prepared.json);
        });
        let latest = LatestAppend {
            head: Arc::clone(&after),
            offset,
            number,
            bytes: bytes_with(before.as_ref(), offset),
            state: DataState::Intact,
        };
        let messages = prepared.messages.iter().cloned();
        let numbers = append.message_ids().map(|(_, seq)| seq);
        self.index_messages(messages.zip(numbers), &after);
        self.index_append(before, latest);
        Ok(after)
    }

    /// Adds the deletion of a task, or returns the reason for which the task may not be deleted.
    pub(super) fn delete(
        &mut self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
        log: &mut Writer,
    ) -> Result<()> {
        let latest = self.find(task)?.filter(|one| one.head.owner == *caller);
        let latest = latest.ok_or_else(|| StoreError::not_found(task))?;
        // It is unknown whether a damaged task has ended.
        if latest.state == DataState::Damaged && deletion == Deletion::Ended {
            return Err(self.reader.quarantine_lost(task));
        }
        deletion.check(&latest.head)?;
        self.index_deletion(latest)?;
        log.put(|to| codec::write_deletion(to, task));
        Ok(())
    }

    /// Adds a deletion to the index. The ids of messages and of the client remain in the index: a lookup of such an id finds
    /// that the task does not exist.
    fn index_deletion(&mut self, latest: LatestAppend) -> Result<()> {
        if latest.number >= STRIDE {
            let appends = keys::appends(&latest.head.task);
            let written = self.changes.entries.keys();
            let written = written.filter(|key| key.starts_with(&appends)).cloned();
            let mut gone: Vec<Key> = written.collect();
            for entry in self.reader.index().scan(appends, None) {
                gone.push(entry?.0);
            }
            gone.into_iter().for_each(|key| self.put(key, None));
        }
        let state = DataState::Deleted;
        let gone = LatestAppend { state, ..latest.clone() };
        self.changes.update_task(Some(latest), gone);
        Ok(())
    }

    /// Adds copies of a task's appends. Returns the offset of the last one.
    ///
    /// Errors: `Conflict` if the task has changed, `NotFound`. Nothing is written then.
    pub(super) fn copy(&mut self, copy: &TaskCopy, log: &mut Writer) -> Result<Option<LogOffset>> {
        let task = &copy.latest.head.task;
        let before = self.find(task)?;
        let before = before.ok_or_else(|| StoreError::not_found(task))?;
        if before.offset != copy.latest.offset {
            return Err(StoreError::Conflict {
                task: task.to_string(),
                expected: copy.latest.head.seq,
                actual: before.head.seq,
            });
        }
        if copy.latest.state == DataState::Damaged {
            return self.copy_damaged(before, log);
        }
        let read =
            |record| latest_append(copy.latest.offset, &LoggedAppend::open(record)?, copy.bytes);
        let read: Result<Vec<_>, _> = copy.records.iter().map(|record| read(record)).collect();
        let (mut previous, mut left) = (copy.previous, copy.records.len());
        for (record, (mut latest, messages)) in copy.records.iter().zip(read?) {
            left -= 1;
            let is_last = copy.is_last && left == 0;
            latest.offset = log.put(|to| {
                codec::write_copy(to, record, previous, copy.bytes, is_last);
            });
            previous = Some(latest.offset);
            if is_last {
                latest.head = Arc::clone(&before.head);
            }
            self.index_copy(Some(before.clone()), latest, messages, is_last);
        }
        Ok(previous)
    }

    /// Adds a record that stands for a damaged task.
    fn copy_damaged(
        &mut self,
        before: LatestAppend,
        log: &mut Writer,
    ) -> Result<Option<LogOffset>> {
        let head = codec::head_json(&before.head)?;
        let offset = log.put(|to| codec::write_damaged(to, &head));
        let latest = LatestAppend {
            head: Arc::clone(&before.head),
            offset,
            number: 1,
            bytes: bytes_with(None, offset),
            state: DataState::Damaged,
        };
        self.changes.rewrite_task(Some(before), latest);
        Ok(Some(offset))
    }

    /// Adds a small record again if it is still at this offset.
    pub(super) fn rewrite_record(
        &mut self,
        key: Key,
        offset: LogOffset,
        value: &[u8],
        log: &mut Writer,
    ) -> Result<()> {
        match self.get(&key)? == Some(keys::write(&offset)) {
            true => self.record(key, Some(value), log).map(drop),
            false => Ok(()),
        }
    }

    /// Adds a small record or its removal. Returns whether the record existed.
    pub(super) fn record(
        &mut self,
        key: Key,
        value: Option<&[u8]>,
        log: &mut Writer,
    ) -> Result<bool> {
        let before = self.get(&key)?;
        let offset = log.put(|to| codec::write_small(to, &key, value));
        self.index_record(key, before.as_deref(), value.map(|_| offset))?;
        Ok(before.is_some())
    }

    /// Adds a small record to the index, where its entry was `before`.
    fn index_record(
        &mut self,
        key: Key,
        before: Option<&[u8]>,
        after: Option<LogOffset>,
    ) -> Result<()> {
        let before = before.map(keys::read::<LogOffset>).transpose()?;
        let size = |offset: Option<LogOffset>| {
            offset.map_or(0, |offset| FRAME as i64 + i64::from(offset.length))
        };
        *self.changes.record_bytes.get_or_insert(0) += size(after) - size(before);
        self.put(key, after.map(|offset| keys::write(&offset)));
        Ok(())
    }

    /// Adds a record that was read from the log.
    pub(super) fn replay(&mut self, logged: ReplayedRecord) -> Result<()> {
        match logged {
            ReplayedRecord::Append { latest, is_first, messages } => {
                let before = if is_first { None } else { self.latest_known(&latest.head.task)? };
                let bytes = bytes_with(before.as_ref(), latest.offset);
                let latest = LatestAppend { bytes, ..latest };
                self.index_messages(messages, &latest.head);
                self.index_append(before, latest);
            }
            ReplayedRecord::Small(key, offset) => {
                let before = self.get(&key)?;
                self.index_record(key, before.as_deref(), offset)?;
            }
            ReplayedRecord::Copy { latest, is_last, messages } => {
                let before = self.latest_known(&latest.head.task)?;
                self.index_copy(before, latest, messages, is_last);
            }
            ReplayedRecord::Deleted(task) => {
                if let Some(latest) = self.find(&task)? {
                    self.index_deletion(latest)?;
                }
            }
            ReplayedRecord::Lost(offset, task, head) => self.mark_damaged(offset, &task, head)?,
        }
        Ok(())
    }

    /// Adds the copy of an append to the index. With the last copy, the task consists of its copies.
    fn index_copy(
        &mut self,
        before: Option<LatestAppend>,
        latest: LatestAppend,
        messages: Vec<(Key, Seq)>,
        is_last: bool,
    ) {
        self.index_messages(messages, &latest.head);
        self.index_offset(&latest);
        if is_last {
            self.index_client_id(&latest.head);
            self.changes.rewrite_task(before, latest);
        }
    }

    /// Marks a task as damaged because one of its appends was lost, so that the previous append is not taken for the latest.
    fn mark_damaged(
        &mut self,
        offset: LogOffset,
        task: &str,
        head: Option<Arc<Head>>,
    ) -> Result<()> {
        let before = self.latest_known(task)?;
        let known = before.as_ref().map(|before| Arc::clone(&before.head));
        let Some(head) = known.or(head) else {
            return Ok(());
        };
        let latest = LatestAppend {
            head,
            offset,
            number: before.as_ref().map_or(1, |before| before.number),
            bytes: match &before {
                Some(before) => before.bytes,
                None => bytes_with(None, offset),
            },
            state: DataState::Damaged,
        };
        // The record may stand for a damaged task that was copied.
        self.changes.rewrite_task(before, latest);
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.changes.entries.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.reader.index.get().get(key),
        }
    }

    fn put(&mut self, key: Key, value: Option<Vec<u8>>) {
        self.changes.entries.insert(key, value);
    }

    /// Returns the latest append of an existing task, see [`Reader::find`].
    fn find(&self, task: &str) -> Result<Option<LatestAppend>> {
        match self.changes.latest(task) {
            Some(latest) => Ok(latest.clone().unless_deleted()),
            None => self.reader.find(task),
        }
    }

    /// Returns the latest append of a task to which this caller can append; `None` for a new task.
    fn latest_for_append(&self, caller: &Caller, task: &str) -> Result<Option<LatestAppend>> {
        let Some(latest) = self.find(task)? else {
            return Ok(None);
        };
        if latest.head.owner != *caller {
            return Err(StoreError::not_found(task));
        }
        let latest = self.reader.intact(latest)?;
        match self.reader.quarantine.reason(task) {
            Some(reason) => Err(StoreError::Damaged { task: task.to_owned(), reason }),
            None => Ok(Some(latest)),
        }
    }

    /// Returns the latest known append of a task while the log is replayed.
    fn latest_known(&self, task: &str) -> Result<Option<LatestAppend>> {
        let latest = self.find(task)?;
        Ok(latest.filter(|latest| latest.number > 0))
    }

    /// Returns whether a task exists. The ids of deleted tasks may still be in the index.
    fn exists(&self, task: &str) -> Result<bool> {
        match self.changes.latest(task) {
            Some(latest) => Ok(latest.state != DataState::Deleted),
            None => Ok(self.reader.indexed_task(task)?.is_some()),
        }
    }

    /// Checks that no other task has the client's id of a new task.
    fn check_client_id(&self, head: &Head, append: &Append) -> Result<()> {
        if let Some(client_id) = head.client_id.as_deref().filter(|_| append.expected == 0)
            && let Some(task) = self.get(&keys::client_task(&head.owner, &head.agent, client_id))?
        {
            let (client_id, task) = (client_id.into(), keys::read::<String>(&task)?);
            if self.exists(&task)? {
                return Err(StoreError::Taken { client_id, task });
            }
        }
        Ok(())
    }

    /// Checks that the store has none of the messages.
    fn check_messages(&self, prepared: &PreparedAppend) -> Result<()> {
        for (key, (id, _)) in prepared.messages.iter().zip(prepared.append.message_ids()) {
            if let Some(event) = self.get(key)? {
                let (seq, task) = keys::read::<(Seq, String)>(&event)?;
                let message_id = id.into();
                if self.exists(&task)? {
                    return Err(StoreError::Duplicate { message_id, task, seq });
                }
            }
        }
        Ok(())
    }

    /// Adds the ids of messages to the index.
    fn index_messages(&mut self, messages: impl IntoIterator<Item = (Key, Seq)>, head: &Head) {
        for (key, seq) in messages {
            self.put(key, Some(keys::write(&(seq, &head.task))));
        }
    }

    /// Adds an append to the index.
    fn index_append(&mut self, before: Option<LatestAppend>, latest: LatestAppend) {
        if before.is_none() {
            self.index_client_id(&latest.head);
        }
        self.index_offset(&latest);
        self.changes.update_task(before, latest);
    }

    fn index_client_id(&mut self, head: &Head) {
        if let Some(client_id) = &head.client_id {
            let key = keys::client_task(&head.owner, &head.agent, client_id);
            self.put(key, Some(keys::write(&head.task)));
        }
    }

    fn index_offset(&mut self, latest: &LatestAppend) {
        if latest.number.is_multiple_of(STRIDE) {
            let key = keys::append(&latest.head.task, latest.head.seq);
            self.put(key, Some(keys::write(&latest.offset)));
        }
    }
}

/// Converts an append of the log to the latest append of its task, and returns it with the index keys of its messages.
pub(super) fn latest_append(
    offset: LogOffset,
    append: &LoggedAppend<'_>,
    bytes: u64,
) -> Result<(LatestAppend, Vec<(Key, Seq)>)> {
    let head = Arc::new(append.head()?);
    let key = |(id, seq): (String, Seq)| (keys::message(&head.owner, &head.agent, &id), seq);
    let messages = append.message_ids()?.into_iter().map(key).collect();
    let latest =
        LatestAppend { head, offset, number: append.number, bytes, state: DataState::Intact };
    Ok((latest, messages))
}

/// Returns the size of a task in the log with one more append.
fn bytes_with(before: Option<&LatestAppend>, offset: LogOffset) -> u64 {
    before.map_or(0, |before| before.bytes) + FRAME as u64 + u64::from(offset.length)
}
