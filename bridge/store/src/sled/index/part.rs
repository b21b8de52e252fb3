//! A part: sorted entries that result from one range of the log and never change.
//!
//! | key in sled | value, after its CRC-32 |
//! |-|-|
//! | `p` part | the description of the part, see [`Meta`]; it is written last, and a part without it is not valid |
//! | `b` part, number | a block of entries: each key without the prefix that it shares with the previous key |
//! | `f` part, number | a piece of the part's filter |
//!
//! The numbers of parts have 64 bits, those of blocks and pieces 32, big endian. Values are written by postcard.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{PartEntries, Value, filter::Filter};
use crate::{
    Result, StoreError,
    sled::{
        keys::{self, Key, Order},
        log::End,
    },
};

const META: u8 = b'p';
const BLOCK: u8 = b'b';
const FILTER: u8 = b'f';
/// The size in bytes from which a block takes no further entry.
const BLOCK_BYTES: usize = if cfg!(test) { 2 << 10 } else { 16 << 10 };
/// The size of a filter's pieces in bytes. sled may write larger values to separate files, which it never fsyncs.
const FILTER_PIECE_BYTES: usize = 32 << 10;
const CHECKSUM_BYTES: usize = 4;
/// The format of parts. A part of this format has all turns that were open at its end, also those that began in older parts.
const FORMAT: u8 = 1;

/// A complete part.
#[derive(Clone, Debug)]
pub(super) struct Part {
    db: sled::Db,
    pub(super) number: u64,
    pub(super) meta: Arc<Meta>,
    /// The filter; `None` for old parts if the limit of all filters is reached.
    pub(super) filter: Option<Arc<Filter>>,
}

/// The description of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The end of the part's range of the log.
    pub(super) end: End,
    /// The size of all blocks, and of the filter, in bytes.
    pub(super) bytes: u64,
    pub(super) filter: usize,
    /// The number of message ids.
    pub(super) messages: u64,
    /// The oldest and the newest time in the lists that begin with the newest task, in milliseconds.
    times: Option<(i64, i64)>,
    /// The largest key of a task.
    pub(super) last_task: Key,
    /// The first key of each block.
    first: Vec<Key>,
    /// [`FORMAT`]. The descriptions of older programs end before it.
    format: u8,
    /// The oldest and the newest time in the lists that begin with the oldest task, in milliseconds.
    idle_times: Option<(i64, i64)>,
}

impl Part {
    /// Opens all parts, newest first, without their filters. The blocks of incomplete parts are removed.
    ///
    /// Errors: `Corrupt` if a checksum is wrong.
    pub(super) fn open_all(db: &sled::Db) -> Result<Vec<Self>> {
        let mut parts = Vec::new();
        for entry in db.scan_prefix([META]).rev() {
            let (key, meta) = entry?;
            let meta = postcard::from_bytes::<Meta>(verified(&meta)?).ok();
            let meta = meta.filter(|meta| meta.format == FORMAT);
            parts.push(Self {
                db: db.clone(),
                number: number_of(&key).ok_or_else(|| corrupt("a part has no number"))?,
                meta: meta.ok_or_else(|| corrupt("a part has no valid description"))?.into(),
                filter: None,
            });
        }
        // Parts are written and removed one after the other, so only the first and the last can be incomplete.
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

    /// Returns whether no reader uses the part.
    pub(super) fn is_unread(&self) -> bool {
        Arc::strong_count(&self.meta) == 1
    }

    /// Removes the part from the disk, its description first.
    pub(super) fn remove(&self) -> Result<()> {
        self.db.remove(&key(META, self.number, 0)[..9])?;
        for kind in [BLOCK, FILTER] {
            for found in self.db.range(key(kind, self.number, 0)..key(kind, self.number + 1, 0)) {
                self.db.remove(found?.0)?;
            }
        }
        Ok(())
    }

    /// Reads the whole part, because sled does not report lost values.
    ///
    /// Errors: `Corrupt`.
    pub(super) fn check(&self) -> Result<()> {
        self.list(&[]).try_for_each(|entry| entry.map(drop))
    }

    pub(super) fn read_filter(&self) -> Result<Filter> {
        let (start, end) = (key(FILTER, self.number, 0), key(FILTER, self.number + 1, 0));
        let mut bytes = Vec::with_capacity(self.meta.filter);
        for piece in self.db.range(start..end) {
            bytes.extend(verified(&piece?.1)?);
        }
        let whole = Some(bytes).filter(|bytes| bytes.len() == self.meta.filter);
        let filter = whole.and_then(Filter::from_bytes);
        filter.ok_or_else(|| corrupt("a part has no filter"))
    }

    /// Returns the entry of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let found = Entries::new(self.clone(), key).next()?;
        Ok(found.filter(|(one, _)| one == key).map(|(_, value)| value))
    }

    /// Returns the entries whose keys begin with `prefix`.
    pub(super) fn list<'p>(
        &'p self,
        prefix: &'p [u8],
    ) -> impl Iterator<Item = Result<(Key, Value)>> + use<'p> {
        let mut entries = Entries::new(self.clone(), prefix);
        std::iter::from_fn(move || entries.next().transpose()).take_while(move |entry| {
            entry.as_ref().map_or(true, |(key, _)| key.starts_with(prefix))
        })
    }

    /// Returns the oldest and the newest time in the lists of this order; `None` if they are empty.
    pub(super) fn times(&self, order: Order) -> Option<(i64, i64)> {
        match order {
            Order::NewestFirst => self.meta.times,
            Order::OldestFirst => self.meta.idle_times,
        }
    }

    /// Returns the only block that can have the key.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        let is_before = |first: &Key| first.as_slice() <= key;
        self.meta.first.partition_point(is_before).checked_sub(1)
    }

    fn block(&self, number: usize) -> Result<sled::IVec> {
        let block = self.db.get(key(BLOCK, self.number, number as u32))?;
        block.ok_or_else(|| corrupt("a block is missing"))
    }

    /// Writes sorted entries as a part that ends at `end`. It is durable after [`sled::Db::flush`].
    pub(super) fn write(
        db: &sled::Db,
        number: u64,
        end: End,
        entries: &PartEntries<'_>,
    ) -> Result<Self> {
        let mut filter_keys: Vec<&[u8]> = Vec::with_capacity(entries.len());
        filter_keys.extend(entries.keys().filter_map(|key| keys::filter_key(key)));
        filter_keys.dedup();
        let filter = Filter::of(&filter_keys);
        let mut meta =
            Meta { end, filter: filter.as_bytes().len(), format: FORMAT, ..Meta::default() };
        let (mut block, mut last) = (Vec::with_capacity(2 * BLOCK_BYTES), &[][..]);
        for (entry, value) in entries {
            let entry = entry.as_ref();
            meta.update(entry);
            if block.is_empty() {
                meta.first.push(entry.to_vec());
                last = &[];
            }
            let same = last.iter().zip(entry).take_while(|(one, other)| one == other);
            let common = same.count();
            block = serialized(&(common, &entry[common..], value.as_deref()), block)?;
            last = entry;
            if block.len() >= BLOCK_BYTES {
                meta.put_block(db, number, &mut block)?;
            }
        }
        if !block.is_empty() {
            meta.put_block(db, number, &mut block)?;
        }
        for (piece, bytes) in (0..).zip(filter.as_bytes().chunks(FILTER_PIECE_BYTES)) {
            put(db, &key(FILTER, number, piece), bytes)?;
        }
        put(db, &key(META, number, 0)[..9], &serialized(&meta, Vec::new())?)?;
        Ok(Self { db: db.clone(), number, meta: Arc::new(meta), filter: Some(Arc::new(filter)) })
    }
}

impl Meta {
    fn put_block(&mut self, db: &sled::Db, part: u64, block: &mut Vec<u8>) -> Result<()> {
        self.bytes += block.len() as u64;
        put(db, &key(BLOCK, part, self.first.len() as u32 - 1), block)?;
        block.clear();
        Ok(())
    }

    /// Updates the description for an entry.
    fn update(&mut self, key: &[u8]) {
        match key.first() {
            Some(&keys::MESSAGE) => self.messages += 1,
            Some(&keys::HEAD) => self.last_task = key.to_vec(),
            Some(_) | None => {}
        }
        let Some(time) = keys::time(key) else {
            return;
        };
        let times = match key.first() {
            Some(&(keys::STATE_LIST | keys::CONTEXT)) => &mut self.times,
            Some(_) | None => &mut self.idle_times,
        };
        let (oldest, newest) = times.unwrap_or((time, time));
        *times = Some((oldest.min(time), newest.max(time)));
    }
}

/// Iterates over the entries of a part in the order of their keys. One block is in memory.
#[derive(Debug)]
pub(super) struct Entries {
    part: Part,
    /// The lower bound of the keys.
    start: Key,
    /// The number of the next block.
    next: usize,
    block: sled::IVec,
    /// The position of the next entry in the block.
    at: usize,
    key: Key,
}

impl Entries {
    /// Iterates over the entries from this key on.
    pub(super) fn new(part: Part, start: &[u8]) -> Self {
        Self {
            next: part.block_of(start).unwrap_or(0),
            part,
            start: start.to_vec(),
            block: sled::IVec::default(),
            at: 0,
            key: Key::new(),
        }
    }

    /// Returns the next entry.
    ///
    /// Errors: `Corrupt` if a block cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<(Key, Value)>> {
        loop {
            if self.at >= self.block.len() {
                if self.next >= self.part.meta.first.len() {
                    return Ok(None);
                }
                self.block = self.part.block(self.next)?;
                verified(&self.block)?;
                (self.next, self.at) = (self.next + 1, CHECKSUM_BYTES);
                self.key.clear();
            }
            let rest = &self.block[self.at..];
            let (value, behind) = next_entry(rest, &mut self.key)?;
            self.at += rest.len() - behind.len();
            if self.key >= self.start {
                let value = value.map(<[u8]>::to_vec);
                return Ok(Some((self.key.clone(), value)));
            }
        }
    }
}

/// Stores a value after its checksum.
fn put(db: &sled::Db, key: &[u8], value: &[u8]) -> Result<()> {
    let sum = crc32fast::hash(value).to_be_bytes();
    db.insert(key, [&sum[..], value].concat())?;
    Ok(())
}

/// Reads an entry. `key` is the previous key and becomes that of the entry. Returns the value, and the bytes after the
/// entry.
fn next_entry<'b>(bytes: &'b [u8], key: &mut Key) -> Result<(Option<&'b [u8]>, &'b [u8])> {
    let entry = postcard::take_from_bytes::<(usize, &[u8], Option<&[u8]>)>(bytes);
    let ((common, suffix, value), behind) = entry.map_err(|_| corrupt("an entry is torn"))?;
    key.truncate(common);
    key.extend_from_slice(suffix);
    Ok((value, behind))
}

/// Returns the value after a checksum, if the checksum is right.
fn verified(bytes: &[u8]) -> Result<&[u8]> {
    match bytes.split_first_chunk::<CHECKSUM_BYTES>() {
        Some((sum, rest)) if crc32fast::hash(rest).to_be_bytes() == *sum => Ok(rest),
        Some(_) | None => Err(corrupt("the checksum of a block is wrong")),
    }
}

/// Appends a serialized value.
fn serialized(value: &impl Serialize, to: Vec<u8>) -> Result<Vec<u8>> {
    postcard::to_extend(value, to).map_err(|error| StoreError::corrupt("the index", &error))
}

fn corrupt(reason: &str) -> StoreError {
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
    fn entries_are_found_in_order_and_by_key() {
        let db = sled::Config::new().temporary(true).open().unwrap();
        let entries = [("a", Some("1")), ("ab", None), ("abc", Some("")), ("b", Some("2"))];
        let entries = entries.map(|(key, value)| (key.as_bytes(), value.map(str::as_bytes)));
        let owned = entries.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        let borrowed = entries.map(|(key, value)| (key.into(), value.map(Into::into)));
        let part = Part::write(&db, 7, End::default(), &borrowed.into()).unwrap();
        let list = |prefix: &[u8]| -> Vec<_> { part.list(prefix).map(Result::unwrap).collect() };
        assert_eq!(list(b""), owned);
        assert_eq!(list(b"ab"), owned[1..3]);
        assert_eq!(list(b"b"), owned[3..]);
        for (key, value) in &owned {
            assert_eq!(part.get(key).unwrap().as_ref(), Some(value));
        }
        assert_eq!(part.get(b"aa").unwrap(), None);
        let block = part.block(0).unwrap();
        for at in 0..block.len() {
            let mut changed = block.to_vec();
            changed[at] ^= 1;
            assert!(verified(&changed).is_err(), "at {at}");
        }
    }

    #[test]
    fn removed_parts_free_their_disk_space() {
        const SEGMENT: usize = 512 << 10;
        const ENTRIES: u64 = 250;
        let folder = tempfile::tempdir().unwrap();
        let config = sled::Config::new().path(folder.path());
        let config = config.segment_size(SEGMENT).flush_every_ms(None);
        let (db, mut parts) = (config.open().unwrap(), VecDeque::new());
        for number in 0..300 {
            let entries = (ENTRIES * number..ENTRIES * (number + 1)).map(|entry| {
                let value = vec![entry as u8; 100];
                (Cow::from(keys::head(&entry.to_string())), Some(value.into()))
            });
            let part = Part::write(&db, number, End::default(), &entries.collect()).unwrap();
            parts.push_back(part);
            if parts.len() > 6 {
                parts.pop_front().unwrap().remove().unwrap();
            }
            db.flush().unwrap();
            let size = std::fs::metadata(folder.path().join("db")).unwrap().len();
            let bytes: u64 = parts.iter().map(|part| part.meta.bytes).sum();
            let most = 2 * bytes + 12 * SEGMENT as u64;
            assert!(size <= most, "{size} bytes after {number} parts, {bytes} of them in use");
        }
    }
}
