//! A batch in the making: what it changes can be read from it before it is true.

use std::sync::Arc;

use super::{
    codec::{self, Appended, Link, Record, read_number},
    heads::Tip,
    index::Changes,
    keys::{self, Key},
    log::{FRAME, Place, Writer},
    moved::Moved,
    reader::{Found, Reader, STRIDE},
};
use crate::{
    caller::Caller,
    store::{Append, Event, Head, Seq, StoreError},
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
    /// How much the structure of the events takes in memory.
    pub(super) weight: usize,
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
        let messages = message_keys(append.message_ids(), &after);
        self.check_client_id(&after, append)?;
        self.check_messages(&messages)?;
        let json = codec::head_json(&after)?;
        check_size(&after, json.len())?;
        let counts = self.counts(known, &after)?;
        let link = Link {
            number: before.as_ref().map_or(1, |before| before.number + 1),
            previous: before.as_ref().map(|before| before.place),
        };
        let write = |to: &mut Vec<u8>| codec::write_append(to, append, link, &json, &prepared.json);
        let tip = Tip {
            head: Arc::clone(&after),
            place: log.put(write),
            number: link.number,
            is_broken: false,
        };
        self.remember(messages, &after);
        self.follow(before, tip, counts);
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
        let place = log.put(|to| codec::write_small(to, &key, value));
        match value {
            Some(_) => self.changes.put(key, place.to_bytes().into()),
            None => self.changes.remove(key),
        }
        Ok(present)
    }

    /// Adds what a record of the log says.
    pub(super) fn replay(&mut self, place: Place, record: &[u8]) -> Result<(), StoreError> {
        match Record::read(record)? {
            Record::Append(append) => self.replay_append(place, &append),
            Record::Small { key, value } => {
                match value {
                    Some(_) => self.changes.put(key.into(), place.to_bytes().into()),
                    None => self.changes.remove(key.into()),
                }
                Ok(())
            }
        }
    }

    /// Adds that a stretch of the log from this position on is broken. The task whose newest append was there must
    /// not look as if the one before it was the newest.
    pub(super) fn lose(&mut self, mut at: u64, stretch: &[u8]) -> Result<(), StoreError> {
        let mut rest = stretch;
        while let Some(length) = rest.first_chunk().map(|length| u32::from_be_bytes(*length)) {
            let record = rest.get(FRAME..).unwrap_or_default();
            self.lose_record(Place { at, length }, record)?;
            // The next one is found only if this one tells its length.
            let Some(behind) = rest.get(FRAME + length as usize..) else {
                break;
            };
            at += FRAME as u64 + u64::from(length);
            rest = behind;
        }
        Ok(())
    }

    /// The same of one record, as far as it can be told whose it was.
    pub(super) fn lose_record(&mut self, place: Place, record: &[u8]) -> Result<(), StoreError> {
        let Some((task, head)) = codec::guess(record) else {
            return Ok(());
        };
        let before = self.last_tip(&task)?;
        let known = before.as_ref().map(|before| Arc::clone(&before.head));
        let Some(head) = known.clone().or_else(|| head.map(Arc::new)) else {
            return Ok(());
        };
        let counts = self.counts(known.as_deref(), &head)?;
        let tip = Tip {
            head,
            place,
            number: before.as_ref().map_or(1, |before| before.number),
            is_broken: true,
        };
        for (key, count) in counts {
            self.changes.put(key, count.to_be_bytes().into());
        }
        self.changes.move_task(Moved::new(before, tip));
        Ok(())
    }

    fn replay_append(&mut self, place: Place, append: &Appended<'_>) -> Result<(), StoreError> {
        let head = Arc::new(append.head()?);
        let before = match append.previous {
            Some(_) => self.last_tip(&head.task)?,
            None => None,
        };
        let events = append.events()?;
        let messages = events.iter().filter_map(|stored| match &stored.event {
            Event::Message(message) => Some((message.message_id.as_str(), stored.seq)),
            _ => None,
        });
        self.remember(message_keys(messages, &head), &head);
        let known = before.as_ref().map(|before| before.head.as_ref());
        let counts = self.counts(known, &head)?;
        let number = append.number;
        let tip = Tip {
            head,
            place,
            number,
            is_broken: false,
        };
        self.follow(before, tip, counts);
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.changes.get(key) {
            Some(value) => Ok(value.map(<[u8]>::to_vec)),
            None => self.reader.index.get(key),
        }
    }

    /// The task's newest append, on which another can follow.
    fn whole_tip(&self, caller: &Caller, task: &str) -> Result<Option<Tip>, StoreError> {
        match self.changes.tip(task) {
            Some(tip) => Ok(Some(tip.clone())),
            None => match self.reader.find(task)? {
                None => Ok(None),
                Some(Found::Whole(tip)) => match self.reader.quarantine.reason(task) {
                    Some(_) if tip.head.owner != *caller => Err(StoreError::not_found(task)),
                    Some(reason) => Err(damaged(task, reason)),
                    None => Ok(Some(tip)),
                },
                Some(Found::Damaged { owner, .. }) if owner != *caller => {
                    Err(StoreError::not_found(task))
                }
                Some(Found::Damaged { reason, .. }) => Err(damaged(task, reason)),
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
                task: codec::read_text(&task, "the task of a client's id")?,
            });
        }
        Ok(())
    }

    /// Refuses messages that came before.
    fn check_messages(&self, messages: &[MessageKey<'_>]) -> Result<(), StoreError> {
        for message in messages {
            if let Some(event) = self.get(&message.key)? {
                let (task, seq) = codec::read_message(&event)?;
                let message_id = message.id.into();
                return Err(StoreError::Duplicate {
                    message_id,
                    task,
                    seq,
                });
            }
        }
        Ok(())
    }

    fn remember(&mut self, messages: Vec<MessageKey<'_>>, head: &Head) {
        for MessageKey { key, seq, .. } in messages {
            let event = codec::write_message(&head.task, seq);
            self.changes.put_new(key, event);
        }
    }

    /// Has the index follow an append.
    fn follow(&mut self, before: Option<Tip>, tip: Tip, counts: Vec<(Key, u64)>) {
        let head = &tip.head;
        if let Some(client_id) = head.client_id.as_ref().filter(|_| before.is_none()) {
            let key = keys::client_task(&head.owner, &head.agent, client_id);
            self.changes.put_new(key, head.task.clone().into_bytes());
        }
        if tip.number.is_multiple_of(STRIDE) {
            let key = keys::append(&head.task, head.seq);
            self.changes.put_new(key, tip.place.to_bytes().into());
        }
        for (key, count) in counts {
            self.changes.put(key, count.to_be_bytes().into());
        }
        self.changes.move_task(Moved::new(before, tip));
    }

    /// The counts of tasks that become others, as they will be.
    fn counts(&self, before: Option<&Head>, after: &Head) -> Result<Vec<(Key, u64)>, StoreError> {
        if before.is_some_and(|before| before.state == after.state) {
            return Ok(Vec::new());
        }
        let changes = before
            .map(|before| (before, -1))
            .into_iter()
            .chain([(after, 1)]);
        let count = |(head, change): (&Head, i64)| {
            let key = keys::count(&head.owner, &head.agent, head.state.as_str());
            let count = match self.get(&key)? {
                Some(bytes) => read_number(&bytes, "a count of tasks")?,
                None => 0,
            };
            Ok((key, count.saturating_add_signed(change)))
        };
        changes.map(count).collect()
    }
}

/// A message of an append, with its key, which is a hash: it is looked for and then put.
struct MessageKey<'m> {
    id: &'m str,
    seq: Seq,
    key: Key,
}

fn message_keys<'m>(
    messages: impl Iterator<Item = (&'m str, Seq)>,
    head: &Head,
) -> Vec<MessageKey<'m>> {
    let keyed = |(id, seq)| MessageKey {
        id,
        seq,
        key: keys::message(&head.owner, &head.agent, id),
    };
    messages.map(keyed).collect()
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
