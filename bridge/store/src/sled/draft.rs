//! A batch that is being prepared. Its changes can be read from it before they are durable.

use std::sync::Arc;

use super::{
    codec::{self, Appended, Link},
    copies::Copies,
    index::Changes,
    keys::{self, Key},
    log::{FRAME, LogOffset, Writer},
    logged::{Logged, tip_of},
    reader::{Reader, STRIDE},
    tip::{Tip, TipState},
};
use crate::{Append, Deletion, Head, Seq, StoreError, caller::Caller};

/// The largest size of a head in bytes. Clients choose its ids, and each of them can be part of a key.
const HEAD_LIMIT: usize = 16 << 10;

/// Changes that become visible together: records of the log, and the changes of the index that follow from them.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    reader: &'a Reader,
    pub(super) changes: Changes,
}

/// An append that is ready to be committed: the events, and how they will be written.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) caller: Caller,
    pub(super) append: Append,
    pub(super) json: Vec<u8>,
    /// The keys of its messages.
    pub(super) messages: Vec<Key>,
}

impl<'a> Draft<'a> {
    /// Creates an empty batch on top of the durable state.
    pub(super) fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            changes: Changes::default(),
        }
    }

    /// Adds an append and writes it. After an error nothing of it is written.
    pub(super) fn append(
        &mut self,
        prepared: &Prepared,
        log: &mut Writer,
    ) -> Result<Arc<Head>, StoreError> {
        let append = &prepared.append;
        let before = self.whole_tip(&prepared.caller, &append.task)?;
        let known = before.as_ref().map(|before| before.head.as_ref());
        let after = Arc::new(Head::after(known, &prepared.caller, append)?);
        self.check_client_id(&after, append)?;
        self.check_messages(prepared)?;
        let json = codec::head_json(&after)?;
        check_size(&after, json.len())?;
        let link = Link {
            number: before.as_ref().map_or(1, |before| before.number + 1),
            previous: before.as_ref().map(|before| before.offset),
        };
        let write = |to: &mut Vec<u8>| codec::write_append(to, append, link, &json, &prepared.json);
        let offset = log.put(write);
        let tip = Tip {
            head: Arc::clone(&after),
            offset,
            number: link.number,
            bytes: bytes_with(before.as_ref(), offset),
            state: TipState::Intact,
        };
        let messages = prepared.messages.iter().cloned();
        let numbers = append.message_ids().map(|(_, seq)| seq);
        self.remember(messages.zip(numbers), &after);
        self.follow(before, tip);
        Ok(after)
    }

    /// Deletes a task and writes the deletion, or returns why the task may not be deleted.
    pub(super) fn delete(
        &mut self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
        log: &mut Writer,
    ) -> Result<(), StoreError> {
        let tip = self.find(task)?.filter(|tip| tip.head.owner == *caller);
        let tip = tip.ok_or_else(|| StoreError::not_found(task))?;
        // It is uncertain whether a damaged task has ended.
        if tip.state == TipState::Broken && deletion == Deletion::Ended {
            return Err(self.reader.damaged(task));
        }
        deletion.check(&tip.head)?;
        log.put(|to| codec::write_deletion(to, task));
        self.forget(tip)
    }

    /// Puts a deletion into the index. The ids of messages and of the client stay in it: a lookup of one finds that the task
    /// is gone.
    fn forget(&mut self, tip: Tip) -> Result<(), StoreError> {
        if tip.number >= STRIDE {
            let appends = keys::appends(&tip.head.task);
            let written = self.changes.entries.keys();
            let written = written.filter(|key| key.starts_with(&appends)).cloned();
            let mut gone: Vec<Key> = written.collect();
            for entry in self.reader.index().scan(appends, None) {
                gone.push(entry?.0);
            }
            gone.into_iter().for_each(|key| self.put(key, None));
        }
        let state = TipState::Deleted;
        let gone = Tip {
            state,
            ..tip.clone()
        };
        self.changes.move_task(Some(tip), gone);
        Ok(())
    }

    /// Writes appends of a task anew, and returns the place of the last one.
    ///
    /// Errors: `Conflict` if the task has changed, `NotFound`; nothing is written then.
    pub(super) fn copy(
        &mut self,
        copies: &Copies,
        log: &mut Writer,
    ) -> Result<Option<LogOffset>, StoreError> {
        let task = &copies.tip.head.task;
        let before = self.find(task)?;
        let before = before.ok_or_else(|| StoreError::not_found(task))?;
        if before.offset != copies.tip.offset {
            return Err(StoreError::Conflict {
                task: task.clone(),
                expected: copies.tip.head.seq,
                actual: before.head.seq,
            });
        }
        if copies.tip.state == TipState::Broken {
            return self.copy_damaged(before, log);
        }
        let read = |record| tip_of(copies.tip.offset, &Appended::open(record)?, copies.bytes);
        let read: Result<Vec<_>, _> = copies.records.iter().map(|record| read(record)).collect();
        let (mut previous, mut left) = (copies.previous, copies.records.len());
        for (record, (mut tip, messages)) in copies.records.iter().zip(read?) {
            left -= 1;
            let is_last = copies.is_last && left == 0;
            tip.offset = log.put(|to| {
                codec::write_copy(to, record, previous, copies.bytes, is_last);
            });
            previous = Some(tip.offset);
            if is_last {
                tip.head = Arc::clone(&before.head);
            }
            self.follow_copy(Some(before.clone()), tip, messages, is_last);
        }
        Ok(previous)
    }

    /// Writes a record of a damaged task of which only the existence is known.
    fn copy_damaged(
        &mut self,
        before: Tip,
        log: &mut Writer,
    ) -> Result<Option<LogOffset>, StoreError> {
        let head = codec::head_json(&before.head)?;
        let offset = log.put(|to| codec::write_damaged(to, &head));
        let tip = Tip {
            head: Arc::clone(&before.head),
            offset,
            number: 1,
            bytes: bytes_with(None, offset),
            state: TipState::Broken,
        };
        self.changes.say_anew(Some(before), tip);
        Ok(Some(offset))
    }

    /// Writes a small record anew if it is still at this place.
    pub(super) fn renew(
        &mut self,
        key: Key,
        offset: LogOffset,
        value: &[u8],
        log: &mut Writer,
    ) -> Result<(), StoreError> {
        match self.get(&key)? == Some(keys::write(&offset)) {
            true => self.record(key, Some(value), log).map(drop),
            false => Ok(()),
        }
    }

    /// Puts or removes a small record, and writes that. Returns whether there was one.
    pub(super) fn record(
        &mut self,
        key: Key,
        value: Option<&[u8]>,
        log: &mut Writer,
    ) -> Result<bool, StoreError> {
        let before = self.get(&key)?;
        let offset = log.put(|to| codec::write_small(to, &key, value));
        self.follow_small(key, before.as_deref(), value.map(|_| offset))?;
        Ok(before.is_some())
    }

    /// Puts a small record into the index, which was at `before`.
    fn follow_small(
        &mut self,
        key: Key,
        before: Option<&[u8]>,
        after: Option<LogOffset>,
    ) -> Result<(), StoreError> {
        let before = before.map(keys::read::<LogOffset>).transpose()?;
        let size = |offset: Option<LogOffset>| {
            offset.map_or(0, |offset| FRAME as i64 + i64::from(offset.length))
        };
        *self.changes.record_bytes.get_or_insert(0) += size(after) - size(before);
        self.put(key, after.map(|offset| keys::write(&offset)));
        Ok(())
    }

    /// Adds the content of a record of the log.
    pub(super) fn replay(&mut self, logged: Logged) -> Result<(), StoreError> {
        match logged {
            Logged::Append {
                tip,
                is_first,
                messages,
            } => {
                let before = match is_first {
                    false => self.last_tip(&tip.head.task)?,
                    true => None,
                };
                let bytes = bytes_with(before.as_ref(), tip.offset);
                let tip = Tip { bytes, ..tip };
                self.remember(messages, &tip.head);
                self.follow(before, tip);
            }
            Logged::Small(key, offset) => {
                let before = self.get(&key)?;
                self.follow_small(key, before.as_deref(), offset)?;
            }
            Logged::Copy {
                tip,
                is_last,
                messages,
            } => {
                let before = self.last_tip(&tip.head.task)?;
                self.follow_copy(before, tip, messages, is_last);
            }
            Logged::Deleted(task) => {
                if let Some(tip) = self.find(&task)? {
                    self.forget(tip)?;
                }
            }
            Logged::Lost(offset, task, head) => self.lose(offset, &task, head)?,
        }
        Ok(())
    }

    /// Puts the copy of an append into the index; with the last copy the task consists of its copies.
    fn follow_copy(
        &mut self,
        before: Option<Tip>,
        tip: Tip,
        messages: Vec<(Key, Seq)>,
        is_last: bool,
    ) {
        self.remember(messages, &tip.head);
        self.find_by_number(&tip);
        if is_last {
            self.find_by_client_id(&tip.head);
            self.changes.say_anew(before, tip);
        }
    }

    /// Marks a task whose append was lost, so that the append before it does not pass for the newest.
    fn lose(
        &mut self,
        offset: LogOffset,
        task: &str,
        head: Option<Arc<Head>>,
    ) -> Result<(), StoreError> {
        let before = self.last_tip(task)?;
        let known = before.as_ref().map(|before| Arc::clone(&before.head));
        let Some(head) = known.or(head) else {
            return Ok(());
        };
        let tip = Tip {
            head,
            offset,
            number: before.as_ref().map_or(1, |before| before.number),
            bytes: match &before {
                Some(before) => before.bytes,
                None => bytes_with(None, offset),
            },
            state: TipState::Broken,
        };
        // It may be a damaged task that was written anew.
        self.changes.say_anew(before, tip);
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.changes.entries.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.reader.index.now().get(key),
        }
    }

    fn put(&mut self, key: Key, value: Option<Vec<u8>>) {
        self.changes.entries.insert(key, value);
    }

    /// The newest append of a task that is there, see [`Reader::find`].
    fn find(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        match self.changes.tip(task) {
            Some(tip) => Ok(tip.clone().unless_deleted()),
            None => self.reader.find(task),
        }
    }

    /// The task's newest append, after which this caller may add another.
    fn whole_tip(&self, caller: &Caller, task: &str) -> Result<Option<Tip>, StoreError> {
        let Some(tip) = self.find(task)? else {
            return Ok(None);
        };
        if tip.head.owner != *caller {
            return Err(StoreError::not_found(task));
        }
        match self.reader.quarantine.reason(task) {
            Some(_) => Err(self.reader.damaged(task)),
            None => self.reader.intact(tip).map(Some),
        }
    }

    /// The newest known append of the task, if there is one; for a log that is read again.
    fn last_tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        let tip = self.find(task)?;
        Ok(tip.filter(|tip| tip.number > 0))
    }

    /// Whether a task is there: ids of deleted ones may still be found.
    fn exists(&self, task: &str) -> Result<bool, StoreError> {
        match self.changes.tip(task) {
            Some(tip) => Ok(tip.state != TipState::Deleted),
            None => Ok(self.reader.indexed_task(task)?.is_some()),
        }
    }

    /// Refuses a client's id for a new task if another task has it already.
    fn check_client_id(&self, head: &Head, append: &Append) -> Result<(), StoreError> {
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

    /// Refuses messages that the store has already.
    fn check_messages(&self, prepared: &Prepared) -> Result<(), StoreError> {
        for (key, (id, _)) in prepared.messages.iter().zip(prepared.append.message_ids()) {
            if let Some(event) = self.get(key)? {
                let (seq, task) = keys::read::<(Seq, String)>(&event)?;
                let message_id = id.into();
                if self.exists(&task)? {
                    return Err(StoreError::Duplicate {
                        message_id,
                        task,
                        seq,
                    });
                }
            }
        }
        Ok(())
    }

    /// Puts the ids of messages into the index.
    fn remember(&mut self, messages: impl IntoIterator<Item = (Key, Seq)>, head: &Head) {
        for (key, seq) in messages {
            self.put(key, Some(keys::write(&(seq, &head.task))));
        }
    }

    /// Puts an append into the index.
    fn follow(&mut self, before: Option<Tip>, tip: Tip) {
        if before.is_none() {
            self.find_by_client_id(&tip.head);
        }
        self.find_by_number(&tip);
        self.changes.move_task(before, tip);
    }

    fn find_by_client_id(&mut self, head: &Head) {
        if let Some(client_id) = &head.client_id {
            let key = keys::client_task(&head.owner, &head.agent, client_id);
            self.put(key, Some(keys::write(&head.task)));
        }
    }

    fn find_by_number(&mut self, tip: &Tip) {
        if tip.number.is_multiple_of(STRIDE) {
            let key = keys::append(&tip.head.task, tip.head.seq);
            self.put(key, Some(keys::write(&tip.offset)));
        }
    }
}

/// The bytes of a task in the log, with another append behind this one.
fn bytes_with(before: Option<&Tip>, offset: LogOffset) -> u64 {
    before.map_or(0, |before| before.bytes) + FRAME as u64 + u64::from(offset.length)
}

fn check_size(head: &Head, size: usize) -> Result<(), StoreError> {
    match size {
        0..=HEAD_LIMIT => Ok(()),
        size => Err(StoreError::TooLarge {
            what: format!("the ids and open turns of task {}", head.task),
            size,
            limit: HEAD_LIMIT,
        }),
    }
}
