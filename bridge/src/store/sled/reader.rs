//! Reading from index and log. Nothing here waits but for the disk.

use std::{fs::File, sync::Arc};

use super::{
    codec::{self, Appended, read_place},
    heads::{Heads, Tip},
    index::Index,
    keys::{self, Key},
    log::Log,
};
use crate::store::{Head, Seq, StoreError, Stored};

/// Every append whose number is a multiple of this is found by its number in the index; the others by
/// going back from one to the one before it.
pub(super) const STRIDE: u32 = 32;

/// Records of more bytes than this are not read where others wait.
const SMALL: u32 = 32 << 10;

/// All that is durable.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) index: Arc<Index>,
    pub(super) log: Arc<Log>,
    pub(super) heads: Arc<Heads>,
    /// Nobody else opens the folder while anybody reads: the last of all that is let go.
    pub(super) _lock: Arc<File>,
}

/// Events of a task, and the bytes that they have in the log.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) events: Vec<Stored>,
    pub(super) bytes: usize,
}

impl Reader {
    /// The task's newest append, whoever owns it.
    pub(super) fn tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        if let Some(tip) = self.heads.get(task).or_else(|| self.index.tip(task)) {
            return Ok(Some(tip));
        }
        let Some(place) = self.index.get(&keys::head(task))? else {
            return Ok(None);
        };
        let place = read_place(&place, "the head of a task")?;
        let record = self.log.read(place)?;
        let append = Appended::open(&record)?;
        Ok(Some(Tip {
            head: Arc::new(append.head()?),
            place,
            number: append.number,
        }))
    }

    /// At most `limit` events after `after`. `None` if a large record is among those to read and `large`
    /// ones should not be: then whoever asks should wait elsewhere.
    pub(super) fn events(
        &self,
        tip: &Tip,
        after: Seq,
        limit: usize,
        large: bool,
    ) -> Result<Option<Part>, StoreError> {
        let wanted = after.saturating_add(limit as Seq).min(tip.head.seq);
        let mut appends = Vec::new();
        let mut part = Part::default();
        let mut next = (wanted > after)
            .then(|| self.from(tip, wanted))
            .transpose()?;
        let mut covered = None;
        while let Some(place) = next {
            if place.length > SMALL && !large {
                return Ok(None);
            }
            let record = self.log.read(place)?;
            let append = Appended::open(&record)?;
            // What the disk lost in the middle of a log must not go unnoticed.
            let is_gap = covered.is_some_and(|covered| append.last + 1 != covered);
            if is_gap || (append.first() > 1 && append.previous.is_none()) {
                return Err(missing(&tip.head, append.first()));
            }
            if append.first() <= wanted {
                part.bytes += record.len();
                appends.push(append.events()?);
            }
            covered = Some(append.first());
            next = append.previous.filter(|_| append.first() > after + 1);
        }
        let events = appends.into_iter().rev().flatten();
        let events = events.filter(|stored| stored.seq > after);
        part.events = events.take(limit).collect();
        Ok(Some(part))
    }

    /// Where to begin to go back from in order to find event `wanted`.
    fn from(&self, tip: &Tip, wanted: Seq) -> Result<super::log::Place, StoreError> {
        if tip.number < STRIDE || wanted == tip.head.seq {
            return Ok(tip.place);
        }
        let prefix = keys::appends(&tip.head.task);
        let before = keys::append(&tip.head.task, wanted - 1);
        match self.index.scan(prefix, Some(before)).next().transpose()? {
            Some((_, place)) => read_place(&place, "an append of a task"),
            None => Ok(tip.place),
        }
    }

    pub(super) fn message(&self, key: &[u8]) -> Result<Option<(String, Seq)>, StoreError> {
        let message = self.index.get(key)?;
        message.map(|bytes| codec::read_message(&bytes)).transpose()
    }

    pub(super) fn client_task(&self, key: &[u8]) -> Result<Option<String>, StoreError> {
        let read = |bytes: Vec<u8>| codec::read_text(&bytes, "the task of a client's id");
        self.index.get(key)?.map(read).transpose()
    }

    /// Heads of open tasks, whoever owns them. A task that ends meanwhile is shown as ended.
    pub(super) fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let open = self.index.scan(keys::OPEN.into(), Some(keys::open(after)));
        let mut heads = Vec::new();
        for entry in open.take(limit) {
            let (key, _) = entry?;
            let task = codec::read_text(&key[keys::OPEN.len()..], "the key of an open task")?;
            heads.extend(self.tip(&task)?.map(|tip| Arc::unwrap_or_clone(tip.head)));
        }
        Ok(heads)
    }

    /// The value of a small record.
    pub(super) fn record(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let place = self.index.get(key)?;
        place.map(|place| self.value(&place)).transpose()
    }

    /// The records whose keys begin with `prefix`, by the rest of their keys.
    pub(super) fn records(&self, prefix: &Key) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let read = |entry: Result<(Key, Vec<u8>), StoreError>| {
            let (key, place) = entry?;
            let id = codec::read_text(&key[prefix.len()..], "the key of a record")?;
            Ok((id, self.value(&place)?))
        };
        self.index.scan(prefix.clone(), None).map(read).collect()
    }

    fn value(&self, place: &[u8]) -> Result<Vec<u8>, StoreError> {
        let record = self.log.read(read_place(place, "a small record")?)?;
        codec::small_value(&record)
    }
}

fn missing(head: &Head, seq: Seq) -> StoreError {
    let reason = format!("the events before {seq} are missing");
    StoreError::corrupt(format!("task {}", head.task), &reason)
}
