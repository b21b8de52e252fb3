//! A batch in the making: what it changes can be read from it before it is true.

use std::sync::Arc;

use super::{
    codec::{self, Link},
    follow::Logged,
    index::{Changes, Tip},
    keys::{self, Key},
    log::{LogOffset, Writer},
    reader::{Reader, STRIDE, TaskLookup},
};
use crate::{
    caller::Caller,
    store::{Append, Head, Seq, StoreError},
};

/// Clients choose some of what is in a head, and all of that can be part of a key.
const HEAD_LIMIT: usize = 16 << 10;

/// Changes that become true together: those to the index that follow from records of the log.
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
    /// The keys of the messages in it.
    pub(super) messages: Vec<Key>,
}

impl<'a> Draft<'a> {
    /// An empty one, on top of what is durable.
    pub(super) fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            changes: Changes::default(),
        }
    }

    /// Adds an append and writes it, or says why it cannot follow; then nothing of it is anywhere.
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
        let tip = Tip {
            head: Arc::clone(&after),
            offset: log.put(write),
            number: link.number,
            is_broken: false,
        };
        for (key, (_, seq)) in prepared.messages.iter().zip(append.message_ids()) {
            self.remember(key.clone(), &after, seq);
        }
        self.follow(before, tip);
        Ok(after)
    }

    /// Puts a small record or removes it, and writes that; says whether there was one.
    pub(super) fn record(
        &mut self,
        key: Key,
        value: Option<&[u8]>,
        log: &mut Writer,
    ) -> Result<bool, StoreError> {
        let present = self.get(&key)?.is_some();
        let offset = log.put(|to| codec::write_small(to, &key, value));
        self.put(key, value.map(|_| keys::write(&offset)));
        Ok(present)
    }

    /// Adds what a record of the log says.
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
                for (key, seq) in messages {
                    self.remember(key, &tip.head, seq);
                }
                self.follow(before, tip);
            }
            Logged::Small(key, offset) => self.put(key, offset.map(|offset| keys::write(&offset))),
            Logged::Lost(offset, task, head) => self.lose(offset, &task, head)?,
        }
        Ok(())
    }

    /// The task whose append was lost must not look as if the one before it was the newest.
    fn lose(
        &mut self,
        offset: LogOffset,
        task: &str,
        head: Option<Head>,
    ) -> Result<(), StoreError> {
        let before = self.last_tip(task)?;
        let known = before.as_ref().map(|before| Arc::clone(&before.head));
        let Some(head) = known.or_else(|| head.map(Arc::new)) else {
            return Ok(());
        };
        let tip = Tip {
            head,
            offset,
            number: before.as_ref().map_or(1, |before| before.number),
            is_broken: true,
        };
        self.changes.move_task(before, tip);
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

    /// The task's newest append, on which another can follow.
    fn whole_tip(&self, caller: &Caller, task: &str) -> Result<Option<Tip>, StoreError> {
        match self.changes.tip(task) {
            Some(tip) => Ok(Some(tip.clone())),
            None => match self.reader.find(task)? {
                None => Ok(None),
                Some(TaskLookup::Intact(tip)) => match self.reader.quarantine.reason(task) {
                    Some(_) if tip.head.owner != *caller => Err(StoreError::not_found(task)),
                    Some(reason) => Err(damaged(task, reason)),
                    None => Ok(Some(tip)),
                },
                Some(TaskLookup::Damaged { owner, .. }) if owner != *caller => {
                    Err(StoreError::not_found(task))
                }
                Some(TaskLookup::Damaged { reason, .. }) => Err(damaged(task, reason)),
            },
        }
    }

    /// The newest append that is known of the task, if there is one: while the log is read again.
    fn last_tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        match self.changes.tip(task) {
            Some(tip) => Ok(Some(tip.clone())),
            None => self.reader.last_tip(task),
        }
    }

    /// Refuses a client's id for a new task that has another one already.
    fn check_client_id(&self, head: &Head, append: &Append) -> Result<(), StoreError> {
        if let Some(client_id) = head.client_id.as_deref().filter(|_| append.expected == 0)
            && let Some(task) = self.get(&keys::client_task(&head.owner, &head.agent, client_id))?
        {
            return Err(StoreError::Taken {
                client_id: client_id.into(),
                task: keys::read(&task)?,
            });
        }
        Ok(())
    }

    /// Refuses messages that came before.
    fn check_messages(&self, prepared: &Prepared) -> Result<(), StoreError> {
        for (key, (id, _)) in prepared.messages.iter().zip(prepared.append.message_ids()) {
            if let Some(event) = self.get(key)? {
                let (seq, task) = keys::read(&event)?;
                let message_id = id.into();
                return Err(StoreError::Duplicate {
                    message_id,
                    task,
                    seq,
                });
            }
        }
        Ok(())
    }

    fn remember(&mut self, key: Key, head: &Head, seq: Seq) {
        self.put(key, Some(keys::write(&(seq, &head.task))));
    }

    /// Has the index follow an append.
    fn follow(&mut self, before: Option<Tip>, tip: Tip) {
        let head = Arc::clone(&tip.head);
        if let Some(client_id) = head.client_id.as_ref().filter(|_| before.is_none()) {
            let key = keys::client_task(&head.owner, &head.agent, client_id);
            self.put(key, Some(keys::write(&head.task)));
        }
        if tip.number.is_multiple_of(STRIDE) {
            let key = keys::append(&head.task, head.seq);
            self.put(key, Some(keys::write(&tip.offset)));
        }
        self.changes.move_task(before, tip);
    }
}

fn damaged(task: &str, reason: String) -> StoreError {
    let task = task.into();
    StoreError::Damaged { task, reason }
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
