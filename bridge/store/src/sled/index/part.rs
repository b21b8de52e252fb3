//! Sorted entries that never change: those that follow from one stretch of the log.
//!
//! | key in sled | value, behind a CRC-32 of it |
//! |-|-|
//! | `p` part | its description, see [`Meta`]; written last, and without it the rest of the part is not valid |
//! | `b` part, number | a block of entries: each key without the beginning that it shares with the key before it |
//! | `f` part, number | a piece of the part's filter |
//!
//! Parts have 64 bits, numbers 32, big endian; all else is written by postcard.

use std::{
    ops::{Bound, ControlFlow},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{Entry, Value, filter::Filter};
use crate::{
    StoreError,
    sled::{
        keys::{self, Key},
        log::End,
    },
};

const META: u8 = b'p';
const BLOCK: u8 = b'b';
const FILTER: u8 = b'f';
/// The size in bytes from which a block takes no further entry.
const FULL: usize = if cfg!(test) { 2 << 10 } else { 16 << 10 };
/// The largest value in bytes. Larger ones might get files of their own, which sled never fsyncs.
const PIECE: usize = 32 << 10;
/// The bytes of a sum.
const SUM: usize = 4;

/// A complete part.
#[derive(Clone, Debug)]
pub(super) struct Part {
    db: sled::Db,
    pub(super) number: u64,
    pub(super) meta: Arc<Meta>,
    /// `None` for old parts, if there are too many filters.
    pub(super) filter: Option<Arc<Filter>>,
}

/// Describes a part without its entries.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The end of its stretch of the log.
    pub(super) end: End,
    /// The bytes of its blocks, and of its filter.
    pub(super) bytes: u64,
    pub(super) filter: usize,
    /// The number of its message ids.
    pub(super) messages: u64,
    /// The times of the tasks in its lists, from the oldest to the newest, in milliseconds.
    pub(super) times: Option<(i64, i64)>,
    /// The greatest key of a task.
    pub(super) last_task: Key,
    /// The first key of each block.
    first: Vec<Key>,
}

impl Part {
    /// Opens all parts, newest first, without their filters. Blocks of a part whose writing was interrupted are removed.
    ///
    /// Errors: `Corrupt` if a sum is wrong.
    pub(super) fn open_all(db: &sled::Db) -> Result<Vec<Self>, StoreError> {
        let mut parts = Vec::new();
        for entry in db.scan_prefix([META]).rev() {
            let (key, meta) = entry?;
            let meta = postcard::from_bytes(summed(&meta)?);
            parts.push(Self {
                db: db.clone(),
                number: number_of(&key).ok_or_else(|| broken("a part has no number"))?,
                meta: Arc::new(meta.map_err(|_| broken("a part does not say what it is"))?),
                filter: None,
            });
        }
        // A part is begun only when all before it are complete, and removed only when all before it are removed.
        let behind = parts.first().map_or(0, |newest: &Self| newest.number + 1);
        let before = parts.last().map_or(0, |oldest| oldest.number);
        for kind in [BLOCK, FILTER] {
            let former = db.range(key(kind, 0, 0)..key(kind, before, 0));
            for found in former.chain(db.range(key(kind, behind, 0)..key(kind + 1, 0, 0))) {
                db.remove(found?.0)?;
            }
        }
        Ok(parts)
    }

    /// Whether no reader uses it.
    pub(super) fn is_unread(&self) -> bool {
        Arc::strong_count(&self.meta) == 1
    }

    /// Removes all of it from the disk, its description first.
    pub(super) fn remove(&self) -> Result<(), StoreError> {
        self.db.remove(&key(META, self.number, 0)[..9])?;
        for kind in [BLOCK, FILTER] {
            for found in self
                .db
                .range(key(kind, self.number, 0)..key(kind, self.number + 1, 0))
            {
                self.db.remove(found?.0)?;
            }
        }
        Ok(())
    }

    /// Reads all of it, because sled does not report what it has lost.
    ///
    /// Errors: `Corrupt`.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.list(&[], Bound::Unbounded)
            .try_for_each(|entry| entry.map(drop))
    }

    pub(super) fn read_filter(&self) -> Result<Filter, StoreError> {
        let (start, end) = (key(FILTER, self.number, 0), key(FILTER, self.number + 1, 0));
        let mut bytes = Vec::with_capacity(self.meta.filter);
        for piece in self.db.range(start..end) {
            bytes.extend(summed(&piece?.1)?);
        }
        let whole = Some(bytes).filter(|bytes| bytes.len() == self.meta.filter);
        let filter = whole.and_then(Filter::from_bytes);
        filter.ok_or_else(|| broken("a part has no filter"))
    }

    /// The entry of a key.
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

    /// Its entries whose keys begin with `prefix`, from `from` on.
    pub(super) fn list<'p>(
        &'p self,
        prefix: &'p [u8],
        from: Bound<&'p [u8]>,
    ) -> impl Iterator<Item = Result<(Key, Value), StoreError>> + use<'p> {
        let start = match from {
            Bound::Included(start) | Bound::Excluded(start) => start,
            Bound::Unbounded => prefix,
        };
        let blocks = self.block_of(start).unwrap_or(0)..self.meta.first.len();
        let blocks = blocks.take_while(move |number| {
            let first = &self.meta.first[*number];
            first.as_slice() < start || first.starts_with(prefix)
        });
        let entries = move |number| {
            let mut entries = Vec::new();
            let read = decode(&self.block(number)?, |key, value| {
                let is_after = match from {
                    Bound::Excluded(from) => key > from,
                    Bound::Included(_) | Bound::Unbounded => key >= start,
                };
                if !is_after {
                    ControlFlow::Continue(())
                } else if key.starts_with(prefix) {
                    entries.push(Ok((key.to_vec(), value.map(<[u8]>::to_vec))));
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            read.map(|()| entries)
        };
        blocks
            .map(entries)
            .flat_map(|entries| entries.unwrap_or_else(|error| vec![Err(error)]))
    }

    /// The only block that may have the key.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        let is_before = |first: &Key| first.as_slice() <= key;
        self.meta.first.partition_point(is_before).checked_sub(1)
    }

    fn block(&self, number: usize) -> Result<sled::IVec, StoreError> {
        let block = self.db.get(key(BLOCK, self.number, number as u32))?;
        block.ok_or_else(|| broken("a block is missing"))
    }

    /// Writes sorted entries as a part that ends at `end`. It is durable once [`sled::Db::flush`] was called.
    pub(super) fn write(
        db: &sled::Db,
        number: u64,
        end: End,
        entries: &[Entry<'_>],
    ) -> Result<Self, StoreError> {
        let mut asked: Vec<&[u8]> = Vec::with_capacity(entries.len());
        asked.extend(entries.iter().filter_map(|(key, _)| keys::filtered(key)));
        asked.dedup();
        let filter = Filter::of(&asked);
        let mut meta = Meta {
            end,
            filter: filter.as_bytes().len(),
            ..Meta::default()
        };
        let (mut block, mut last) = (Vec::with_capacity(2 * FULL), &[][..]);
        for (entry, value) in entries {
            let entry = entry.as_ref();
            meta.note(entry);
            if block.is_empty() {
                meta.first.push(entry.to_vec());
                last = &[];
            }
            let same = last
                .iter()
                .zip(entry)
                .take_while(|(one, other)| one == other);
            let common = same.count();
            block = written(&(common, &entry[common..], value.as_deref()), block)?;
            last = entry;
            if block.len() >= FULL {
                meta.put_block(db, number, &mut block)?;
            }
        }
        if !block.is_empty() {
            meta.put_block(db, number, &mut block)?;
        }
        for (piece, bytes) in (0..).zip(filter.as_bytes().chunks(PIECE)) {
            put(db, &key(FILTER, number, piece), bytes)?;
        }
        put(db, &key(META, number, 0)[..9], &written(&meta, Vec::new())?)?;
        Ok(Self {
            db: db.clone(),
            number,
            meta: Arc::new(meta),
            filter: Some(Arc::new(filter)),
        })
    }
}

impl Meta {
    fn put_block(
        &mut self,
        db: &sled::Db,
        part: u64,
        block: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        self.bytes += block.len() as u64;
        put(db, &key(BLOCK, part, self.first.len() as u32 - 1), block)?;
        block.clear();
        Ok(())
    }

    /// Updates the description by an entry.
    fn note(&mut self, key: &[u8]) {
        match key.first() {
            Some(&keys::MESSAGE) => self.messages += 1,
            Some(&keys::HEAD) => self.last_task = key.to_vec(),
            Some(&keys::STATE_LIST) => {
                let time = keys::time(key).unwrap_or_default();
                let (oldest, newest) = self.times.unwrap_or((time, time));
                self.times = Some((oldest.min(time), newest.max(time)));
            }
            Some(_) | None => {}
        }
    }
}

/// Returns a value with its sum before it.
fn put(db: &sled::Db, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let sum = crc32fast::hash(value).to_be_bytes();
    db.insert(key, [&sum[..], value].concat())?;
    Ok(())
}

/// Shows the entries of a block, in order, for as long as more are wanted.
///
/// Errors: `Corrupt` if the block cannot be read.
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

/// The value behind a sum, if the sum is right.
fn summed(bytes: &[u8]) -> Result<&[u8], StoreError> {
    match bytes.split_first_chunk::<SUM>() {
        Some((sum, rest)) if crc32fast::hash(rest).to_be_bytes() == *sum => Ok(rest),
        Some(_) | None => Err(broken("the sum of a block is wrong")),
    }
}

/// Appends a value in its written form.
fn written(value: &impl Serialize, to: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    postcard::to_extend(value, to).map_err(|error| StoreError::corrupt("the index", &error))
}

fn broken(reason: &str) -> StoreError {
    StoreError::corrupt("the index", reason)
}

fn number_of(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(1..9)?.try_into().ok()?))
}

fn key(kind: u8, part: u64, number: u32) -> [u8; 13] {
    let mut key = [kind; 13];
    key[1..9].copy_from_slice(&part.to_be_bytes());
    key[9..].copy_from_slice(&number.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, collections::VecDeque};

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
        let owned = entries.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        let borrowed = entries.map(|(key, value)| (key.into(), value.map(Into::into)));
        let part = Part::write(&db, 7, End::default(), &borrowed).unwrap();
        let list = |prefix: &[u8], from| -> Vec<_> {
            part.list(prefix, from).map(Result::unwrap).collect()
        };
        assert_eq!(list(b"", Bound::Unbounded), owned);
        assert_eq!(list(b"", Bound::Included(b"ab")), owned[1..]);
        assert_eq!(list(b"a", Bound::Excluded(b"ab")), owned[2..3]);
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

    #[test]
    fn removed_parts_give_their_room_back() {
        const SEGMENT: usize = 512 << 10;
        const ENTRIES: u64 = 250;
        let folder = tempfile::tempdir().unwrap();
        let config = sled::Config::new().path(folder.path());
        let config = config.segment_size(SEGMENT).flush_every_ms(None);
        let (db, mut parts) = (config.open().unwrap(), VecDeque::new());
        for number in 0..300 {
            let entries = (ENTRIES * number..ENTRIES * (number + 1)).map(|entry| {
                let value = vec![entry as u8; 100];
                (
                    Cow::from(keys::head(&entry.to_string())),
                    Some(value.into()),
                )
            });
            let mut entries: Vec<Entry<'_>> = entries.collect();
            entries.sort();
            let part = Part::write(&db, number, End::default(), &entries).unwrap();
            parts.push_back(part);
            if parts.len() > 6 {
                parts.pop_front().unwrap().remove().unwrap();
            }
            db.flush().unwrap();
            let size = std::fs::metadata(folder.path().join("db")).unwrap().len();
            let bytes: u64 = parts.iter().map(|part| part.meta.bytes).sum();
            let most = 2 * bytes + 6 * SEGMENT as u64;
            assert!(
                size <= most,
                "{size} bytes after {number} parts, {bytes} of them in use"
            );
        }
    }
}
