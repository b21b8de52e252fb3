//! Sorted entries that never change: what followed from one part of the log.
//!
//! | key in sled | value |
//! |-|-|
//! | `p` part | what it is, a block: see [`Meta`]; without it nothing else of the part counts |
//! | `b` part, number | a block |
//! | `f` part, number | a piece of the part's filter |
//!
//! Parts have 64 bits, numbers 32, big endian. Every value has a sum before it.

use super::{
    Value,
    block::{Block, Entries, summed},
    filter::{self, Filter},
};
use crate::store::{
    StoreError,
    sled::{
        error::sled_error,
        keys::{self, Key},
        log::End,
    },
};

const META: u8 = b'p';
const BLOCK: u8 = b'b';
const FILTER: u8 = b'f';
/// Values of more bytes than that might get files of their own, which sled never fsyncs.
const PIECE: usize = 32 << 10;
/// So many bytes go to sled together.
const BATCH: usize = 256 << 10;

/// A part that is whole.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) number: u64,
    pub(super) meta: Meta,
    /// Absent of old parts, when there are too many.
    filter: Option<Filter>,
}

/// Describes a part without its entries.
#[derive(Clone, Debug, Default)]
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

impl Meta {
    fn to_bytes(&self) -> Vec<u8> {
        let (oldest, newest) = self.times.unwrap_or((i64::MAX, i64::MIN));
        let numbers = [self.end.at, self.end.batch, self.bytes, self.messages];
        let times = [oldest, newest].map(i64::cast_unsigned);
        let numbers = numbers.into_iter().chain(times);
        let numbers: Vec<u8> = numbers.flat_map(u64::to_be_bytes).collect();
        let mut block = Block::default();
        block.push(&self.last_task, Some(&numbers));
        self.first.iter().for_each(|first| block.push(first, None));
        block.take()
    }

    fn read(bytes: sled::IVec) -> Result<Self, StoreError> {
        let broken = || StoreError::corrupt("a part of the index", "it does not say what it is");
        let mut entries = Entries::new(bytes)?;
        let (last_task, numbers) = entries.next().ok_or_else(broken)??;
        let numbers = numbers.ok_or_else(broken)?;
        let (numbers, rest) = numbers.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().copied().map(u64::from_be_bytes).collect();
        let &[at, batch, bytes, messages, oldest, newest] = numbers.as_slice() else {
            return Err(broken());
        };
        if !rest.is_empty() {
            return Err(broken());
        }
        let times = (oldest.cast_signed(), newest.cast_signed());
        let first: Result<Vec<Key>, StoreError> = entries.map(|entry| Ok(entry?.0)).collect();
        Ok(Self {
            end: End { at, batch },
            bytes,
            messages,
            times: (times.0 <= times.1).then_some(times),
            last_task,
            first: first?,
        })
    }

    /// Takes note of an entry.
    fn note(&mut self, key: &[u8]) {
        match key.first() {
            Some(b'm') => self.messages += 1,
            Some(b'h') => self.last_task = key.to_vec(),
            Some(b't') => {
                let time = keys::time(key).unwrap_or_default();
                let (oldest, newest) = self.times.unwrap_or((time, time));
                self.times = Some((oldest.min(time), newest.max(time)));
            }
            Some(_) | None => {}
        }
    }
}

impl Part {
    /// All parts that were written before, newest first. Blocks without a part, of which the writing was cut off, are
    /// removed. Of the newest, filters of so many bytes are kept in memory.
    ///
    /// Errors: `Corrupt` if they are not what was written.
    pub(super) fn open_all(db: &sled::Db, mut filters: usize) -> Result<Vec<Self>, StoreError> {
        let mut parts = Vec::new();
        for entry in db.scan_prefix([META]).rev() {
            let (key, meta) = entry.map_err(sled_error("reading"))?;
            let broken = || StoreError::corrupt("the index", "a part has no number");
            let number = key[1..].try_into().map(u64::from_be_bytes);
            let mut part = Self {
                number: number.map_err(|_| broken())?,
                meta: Meta::read(meta)?,
                filter: None,
            };
            if filters > 0 {
                let filter = part.read_filter(db)?;
                part.filter = Some(filter);
                filters = filters.saturating_sub(part.filter_bytes());
            }
            parts.push(part);
        }
        let known = |number| parts.iter().any(|part: &Self| part.number == number);
        let mut next = 0;
        while let Some(entry) = db.range(key(BLOCK, next, 0)..key(BLOCK + 1, 0, 0)).next() {
            let (found, _) = entry.map_err(sled_error("reading"))?;
            let number = found[1..].first_chunk().copied().map(u64::from_be_bytes);
            let number = number.unwrap_or(next);
            if !known(number) {
                remove(db, number)?;
            }
            next = number + 1;
        }
        Ok(parts)
    }

    /// The bytes of its filter in memory.
    pub(super) fn filter_bytes(&self) -> usize {
        self.filter
            .as_ref()
            .map_or(0, |filter| filter.as_bytes().len())
    }

    /// The same without a filter in memory.
    pub(super) fn without_filter(&self) -> Self {
        Self {
            number: self.number,
            meta: self.meta.clone(),
            filter: None,
        }
    }

    /// Looks at all of it: of what sled has lost it does not tell.
    ///
    /// Errors: `Corrupt`.
    pub(super) fn check(&self, db: &sled::Db) -> Result<(), StoreError> {
        self.from(db, &[]).try_for_each(|entry| entry.map(drop))
    }

    fn read_filter(&self, db: &sled::Db) -> Result<Filter, StoreError> {
        let mut bytes = Vec::new();
        for piece in db.range(key(FILTER, self.number, 0)..key(FILTER, self.number + 1, 0)) {
            let piece = piece.map_err(sled_error("reading"))?.1;
            bytes.extend(summed(&piece)?);
        }
        let missing = || StoreError::corrupt("a part of the index", "it has no filter");
        Filter::from_bytes(bytes).ok_or_else(missing)
    }

    /// Whether it may have what is asked for, see [`keys::asked`].
    pub(super) fn may_have(&self, hash: u64) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.may_have(hash))
    }

    /// What it says of a key.
    pub(super) fn get(&self, db: &sled::Db, key: &[u8]) -> Result<Option<Value>, StoreError> {
        match self.block_of(key) {
            Some(number) => self.block(db, number)?.find(key),
            None => Ok(None),
        }
    }

    /// The block that has the key if any has.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        let later = self
            .meta
            .first
            .partition_point(|first| first.as_slice() <= key);
        later.checked_sub(1)
    }

    fn block(&self, db: &sled::Db, number: usize) -> Result<Entries, StoreError> {
        let block = db.get(key(BLOCK, self.number, number as u32));
        let block = block.map_err(sled_error("reading"))?;
        let missing = || StoreError::corrupt("a part of the index", "a block is missing");
        Entries::new(block.ok_or_else(missing)?)
    }

    /// Its entries, from this key on.
    pub(super) fn from(
        &self,
        db: &sled::Db,
        start: &[u8],
    ) -> impl Iterator<Item = Result<(Key, Value), StoreError>> {
        let blocks = self.block_of(start).unwrap_or(0)..self.meta.first.len();
        let block = |number| match self.block(db, number) {
            Ok(entries) => entries,
            Err(error) => Entries::broken(error),
        };
        let start = start.to_vec();
        let is_before = move |entry: &Result<(Key, Value), StoreError>| {
            entry.as_ref().is_ok_and(|(key, _)| *key < start)
        };
        blocks.flat_map(block).skip_while(is_before)
    }
}

/// Removes what there is of a part that counts for nothing any more.
pub(super) fn remove(db: &sled::Db, number: u64) -> Result<(), StoreError> {
    for kind in [BLOCK, FILTER] {
        let mut batch = sled::Batch::default();
        let entries = db.range(key(kind, number, 0)..key(kind, number + 1, 0));
        for key in entries.keys() {
            batch.remove(key.map_err(sled_error("reading"))?);
        }
        db.apply_batch(batch).map_err(sled_error("writing to"))?;
    }
    Ok(())
}

/// A part in the making.
#[derive(Debug)]
pub(super) struct Writer<'d> {
    db: &'d sled::Db,
    part: Part,
    filter: Filter,
    block: Block,
    batch: sled::Batch,
    bytes: usize,
}

impl<'d> Writer<'d> {
    /// Begins a part of at most so many entries, which goes up to `end`.
    pub(super) fn new(db: &'d sled::Db, number: u64, end: End, most: usize) -> Self {
        let meta = Meta {
            end,
            ..Meta::default()
        };
        Self {
            db,
            part: Part {
                number,
                meta,
                filter: None,
            },
            filter: Filter::new(most),
            block: Block::default(),
            batch: sled::Batch::default(),
            bytes: 0,
        }
    }

    /// Adds the next entry.
    pub(super) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), StoreError> {
        if let Some(asked) = keys::asked(key) {
            self.filter.add(filter::hash(asked));
        }
        self.part.meta.note(key);
        if self.block.is_empty() {
            self.part.meta.first.push(key.to_vec());
        }
        self.block.push(key, value);
        match self.block.is_full() {
            true => self.end_block(),
            false => Ok(()),
        }
    }

    /// Ends the part; the rest of it is in the batch, which makes it count, and the one that it takes the place of not.
    pub(super) fn finish(mut self, former: Option<u64>) -> Result<(Part, sled::Batch), StoreError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let number = self.part.number;
        for (piece, bytes) in (0..).zip(self.filter.as_bytes().chunks(PIECE)) {
            let sum = crc32fast::hash(bytes).to_be_bytes();
            self.batch.insert(
                key(FILTER, number, piece).as_slice(),
                [&sum[..], bytes].concat(),
            );
        }
        self.batch
            .insert(meta_key(number).as_slice(), self.part.meta.to_bytes());
        if let Some(former) = former {
            self.batch.remove(meta_key(former).as_slice());
        }
        self.part.filter = Some(self.filter);
        Ok((self.part, self.batch))
    }

    fn end_block(&mut self) -> Result<(), StoreError> {
        let number = self.part.meta.first.len() as u32 - 1;
        let bytes = self.block.take();
        self.bytes += bytes.len();
        self.part.meta.bytes += bytes.len() as u64;
        self.batch
            .insert(key(BLOCK, self.part.number, number).as_slice(), bytes);
        if self.bytes < BATCH {
            return Ok(());
        }
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.db.apply_batch(batch).map_err(sled_error("writing to"))
    }
}

fn meta_key(part: u64) -> [u8; 9] {
    let mut key = [META; 9];
    key[1..].copy_from_slice(&part.to_be_bytes());
    key
}

fn key(kind: u8, part: u64, number: u32) -> [u8; 13] {
    let mut key = [kind; 13];
    key[1..9].copy_from_slice(&part.to_be_bytes());
    key[9..].copy_from_slice(&number.to_be_bytes());
    key
}
