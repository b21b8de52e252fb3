//! Sorted entries that never change: what followed from one stretch of the log.
//!
//! | key in sled | value, behind a CRC-32 of it |
//! |-|-|
//! | `p` part | what it is, see [`Meta`]; written last, and without it nothing else of the part counts |
//! | `b` part, number | a block of entries: each key without what it has in common with the one before it |
//! | `f` part, number | a piece of the part's filter |
//!
//! Parts have 64 bits, numbers 32, big endian; all else is written by postcard.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Value, filter::Filter};
use crate::store::{
    StoreError,
    sled::{
        keys::{self, Key},
        log::End,
    },
};

const META: u8 = b'p';
const BLOCK: u8 = b'b';
const FILTER: u8 = b'f';
/// A block that has so many bytes takes no further entry.
const FULL: usize = if cfg!(test) { 2 << 10 } else { 16 << 10 };
/// Values of more bytes than that might get files of their own, which sled never fsyncs.
const PIECE: usize = 32 << 10;
/// So many values go to sled together.
const BATCH: usize = 16;
/// The bytes of a sum.
const SUM: usize = 4;

/// A part that is whole.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) db: sled::Db,
    pub(super) number: u64,
    pub(super) meta: Meta,
    /// Absent of old parts, when there are too many.
    pub(super) filter: Option<Filter>,
}

/// Describes a part without its entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Meta {
    /// Up to where in the log it goes.
    pub(super) end: End,
    /// The bytes of its blocks.
    pub(super) bytes: u64,
    /// How many message ids it has.
    pub(super) messages: u64,
    /// The times of the tasks in its lists, from the oldest to the newest, in milliseconds.
    pub(super) times: Option<(i64, i64)>,
    /// The greatest key of a task.
    pub(super) last_task: Key,
    /// The first key of each block.
    first: Vec<Key>,
}

impl Part {
    /// All parts that were written before, newest first. Blocks without a part, of which the writing was cut off, are
    /// removed. Of the newest, filters of so many bytes are kept in memory.
    ///
    /// Errors: `Corrupt` if they are not what was written.
    pub(super) fn open_all(db: &sled::Db, mut filters: usize) -> Result<Vec<Self>, StoreError> {
        let mut parts = Vec::new();
        for entry in db.scan_prefix([META]).rev() {
            let (key, meta) = entry?;
            let number = key[1..].try_into().map(u64::from_be_bytes);
            let mut part = Self {
                db: db.clone(),
                number: number.map_err(|_| broken("a part has no number"))?,
                meta: postcard::from_bytes(summed(&meta)?)
                    .map_err(|_| broken("a part does not say what it is"))?,
                filter: None,
            };
            if filters > 0 {
                let filter = part.read_filter()?;
                filters = filters.saturating_sub(filter.as_bytes().len());
                part.filter = Some(filter);
            }
            parts.push(part);
        }
        let mut next = 0;
        while let Some(entry) = db.range(key(BLOCK, next, 0)..[BLOCK + 1; 13]).next() {
            let number = entry?.0[1..].first_chunk().copied().map(u64::from_be_bytes);
            let number = number.unwrap_or(next);
            if !parts.iter().any(|part| part.number == number) {
                remove(db, number)?;
            }
            next = number + 1;
        }
        Ok(parts)
    }

    /// Looks at all of it: of what sled has lost it does not tell.
    ///
    /// Errors: `Corrupt`.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.from(&[]).try_for_each(|entry| entry.map(drop))
    }

    fn read_filter(&self) -> Result<Filter, StoreError> {
        let (start, end) = (key(FILTER, self.number, 0), key(FILTER, self.number + 1, 0));
        let mut bytes = Vec::new();
        for piece in self.db.range(start..end) {
            bytes.extend(summed(&piece?.1)?);
        }
        Filter::from_bytes(bytes).ok_or_else(|| broken("a part has no filter"))
    }

    /// What it says of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        let mut found = None;
        if let Some(number) = self.block_of(key) {
            decode(&self.block(number)?, |one, value| {
                if one == key {
                    found = Some(value.map(<[u8]>::to_vec));
                }
                if one < key {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
        }
        Ok(found)
    }

    /// Its entries, from this key on.
    pub(super) fn from(
        &self,
        start: &[u8],
    ) -> impl Iterator<Item = Result<(Key, Value), StoreError>> + use<'_> {
        let blocks = self.block_of(start).unwrap_or(0)..self.meta.first.len();
        let start = start.to_vec();
        let entries = move |number| -> Result<Vec<(Key, Value)>, StoreError> {
            let mut entries = Vec::new();
            decode(&self.block(number)?, |key, value| {
                if *key >= *start {
                    entries.push((key.to_vec(), value.map(<[u8]>::to_vec)));
                }
                ControlFlow::Continue(())
            })?;
            Ok(entries)
        };
        blocks.map(entries).flat_map(|entries| match entries {
            Ok(entries) => entries.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    }

    /// The block that has the key if any has.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        let is_before = |first: &Key| first.as_slice() <= key;
        self.meta.first.partition_point(is_before).checked_sub(1)
    }

    fn block(&self, number: usize) -> Result<sled::IVec, StoreError> {
        let block = self.db.get(key(BLOCK, self.number, number as u32))?;
        block.ok_or_else(|| broken("a block is missing"))
    }

    /// Makes a part of entries in order, in the place of `former`; it goes up to `end`, and is durable when
    /// [`sled::Db::flush`] was called.
    pub(super) fn write<'e>(
        db: &sled::Db,
        number: u64,
        former: Option<u64>,
        end: End,
        entries: impl ExactSizeIterator<Item = (&'e [u8], Option<&'e [u8]>)>,
    ) -> Result<Self, StoreError> {
        let mut meta = Meta {
            end,
            ..Meta::default()
        };
        let mut filter = Filter::new(entries.len());
        let mut values = Values::new(db);
        let (mut block, mut last): (Vec<u8>, &[u8]) = (Vec::new(), &[]);
        for (entry, value) in entries {
            if let Some(asked) = keys::asked(entry) {
                filter.add(asked);
            }
            meta.note(entry);
            if block.is_empty() {
                meta.first.push(entry.to_vec());
                last = &[];
            }
            let common = last
                .iter()
                .zip(entry)
                .take_while(|(one, other)| one == other)
                .count();
            block = written(&(common, &entry[common..], value), block)?;
            last = entry;
            if block.len() >= FULL {
                meta.bytes += block.len() as u64;
                values.put(&key(BLOCK, number, meta.first.len() as u32 - 1), &block)?;
                block.clear();
            }
        }
        if !block.is_empty() {
            meta.bytes += block.len() as u64;
            values.put(&key(BLOCK, number, meta.first.len() as u32 - 1), &block)?;
        }
        for (piece, bytes) in (0..).zip(filter.as_bytes().chunks(PIECE)) {
            values.put(&key(FILTER, number, piece), bytes)?;
        }
        values.send()?;
        // At once it counts, and the one in whose place it comes does not.
        values.put(&meta_key(number), &written(&meta, Vec::new())?)?;
        if let Some(former) = former {
            values.batch.remove(meta_key(former));
        }
        values.send()?;
        let (db, filter) = (db.clone(), Some(filter));
        Ok(Self {
            db,
            number,
            meta,
            filter,
        })
    }
}

impl Meta {
    /// Takes note of an entry.
    fn note(&mut self, key: &[u8]) {
        match key.first() {
            Some(&keys::MESSAGE) => self.messages += 1,
            Some(&keys::HEAD) => self.last_task = key.to_vec(),
            Some(&keys::LANE) => {
                let time = keys::time(key).unwrap_or_default();
                let (oldest, newest) = self.times.unwrap_or((time, time));
                self.times = Some((oldest.min(time), newest.max(time)));
            }
            Some(_) | None => {}
        }
    }
}

/// Values on their way to sled, a few together.
struct Values<'d> {
    db: &'d sled::Db,
    batch: sled::Batch,
    count: usize,
}

impl<'d> Values<'d> {
    fn new(db: &'d sled::Db) -> Self {
        Self {
            db,
            batch: sled::Batch::default(),
            count: 0,
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let sum = crc32fast::hash(value).to_be_bytes();
        self.batch.insert(key, [&sum[..], value].concat());
        self.count += 1;
        if self.count.is_multiple_of(BATCH) {
            self.send()
        } else {
            Ok(())
        }
    }

    fn send(&mut self) -> Result<(), StoreError> {
        Ok(self.db.apply_batch(std::mem::take(&mut self.batch))?)
    }
}

/// Removes what there is of a part that does not count.
pub(super) fn remove(db: &sled::Db, number: u64) -> Result<(), StoreError> {
    for kind in [BLOCK, FILTER] {
        for found in db.range(key(kind, number, 0)..key(kind, number + 1, 0)) {
            db.remove(found?.0)?;
        }
    }
    Ok(())
}

/// Shows the entries of a block, in order, for as long as more are wanted.
///
/// Errors: `Corrupt` if it is not what was written.
fn decode(
    block: &[u8],
    mut visit: impl FnMut(&[u8], Option<&[u8]>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let (mut rest, mut key) = (summed(block)?, Key::new());
    while !rest.is_empty() {
        let entry = postcard::take_from_bytes::<(usize, &[u8], Option<&[u8]>)>(rest);
        let ((common, more, value), behind) = entry.map_err(|_| broken("an entry is torn"))?;
        key.truncate(common);
        key.extend_from_slice(more);
        if visit(&key, value).is_break() {
            break;
        }
        rest = behind;
    }
    Ok(())
}

/// What stands behind a sum, if it is what was written.
fn summed(bytes: &[u8]) -> Result<&[u8], StoreError> {
    match bytes.split_first_chunk::<SUM>() {
        Some((sum, rest)) if crc32fast::hash(rest).to_be_bytes() == *sum => Ok(rest),
        Some(_) | None => Err(broken("the sum of a block is wrong")),
    }
}

/// Adds what is written of a value.
fn written(value: &impl Serialize, to: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    postcard::to_extend(value, to).map_err(|error| StoreError::corrupt("the index", &error))
}

fn broken(reason: &str) -> StoreError {
    StoreError::corrupt("the index", reason)
}

fn meta_key(part: u64) -> Vec<u8> {
    [&[META][..], &part.to_be_bytes()].concat()
}

fn key(kind: u8, part: u64, number: u32) -> [u8; 13] {
    let mut key = [kind; 13];
    key[1..9].copy_from_slice(&part.to_be_bytes());
    key[9..].copy_from_slice(&number.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_order_and_by_key() {
        let db = sled::Config::new().temporary(true).open().unwrap();
        let entries = [
            ("a", Some("1")),
            ("ab", None),
            ("abc", Some("")),
            ("b", Some("2")),
        ];
        let entries = entries.map(|(key, value)| (key.as_bytes(), value.map(str::as_bytes)));
        let part = Part::write(&db, 7, None, End::default(), entries.into_iter()).unwrap();
        let owned = entries.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        let all: Vec<_> = part.from(&[]).map(Result::unwrap).collect();
        assert_eq!(all, owned);
        let later: Vec<_> = part.from(b"ab").map(Result::unwrap).collect();
        assert_eq!(later, owned[1..]);
        for (key, value) in &owned {
            assert_eq!(part.get(key).unwrap().as_ref(), Some(value));
        }
        assert_eq!(part.get(b"aa").unwrap(), None);
        let block = part.block(0).unwrap();
        for at in 0..block.len() {
            let mut changed = block.to_vec();
            changed[at] ^= 1;
            assert!(
                decode(&changed, |_, _| ControlFlow::Continue(())).is_err(),
                "at {at}"
            );
        }
    }
}
