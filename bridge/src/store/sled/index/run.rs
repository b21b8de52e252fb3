//! Sorted entries that never change: the unit in which the index is written and merged.
//!
//! | key in sled | value |
//! |-|-|
//! | `b` run, the block's first key | a block |
//! | `f` run, number | a piece of the run's filter |
//!
//! Runs and numbers have 64 bits, big endian.

use std::ops::Bound;

use super::{
    Value,
    block::{Block, Entries},
    filter::{self, Filter},
    merge::Source,
};
use crate::store::{
    StoreError,
    sled::{error::sled_error, keys::Key},
};

const BLOCK: u8 = b'b';
const FILTER: u8 = b'f';
/// Values of more bytes than that might get files of their own, which sled never fsyncs.
const PIECE: usize = 32 << 10;
/// So many bytes go to sled together.
const BATCH: usize = 256 << 10;

/// A run that is whole.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: u64,
    /// How many entries it has.
    pub(super) entries: usize,
    filter: Filter,
}

impl Run {
    /// A run that was written before. All of it is looked at: of blocks that sled has lost it does not tell.
    ///
    /// Errors: `Corrupt` if it is not what was written.
    pub(super) fn open(db: &sled::Db, id: u64, entries: usize) -> Result<Self, StoreError> {
        let mut bytes = Vec::new();
        for piece in db.scan_prefix(key(FILTER, id, &[])).values() {
            bytes.extend(&*piece.map_err(sled_error("reading"))?);
        }
        let missing = || StoreError::corrupt(format!("run {id} of the index"), "it has no filter");
        let filter = Filter::from_bytes(bytes).ok_or_else(missing)?;
        let run = Self {
            id,
            entries,
            filter,
        };
        let mut count = 0;
        let mut all = run.all(db)?;
        while all.advance()? {
            count += 1;
            if !run.may_have(filter::hash(all.key())) {
                let reason = "its filter does not know of an entry";
                return Err(StoreError::corrupt(
                    format!("run {id} of the index"),
                    reason,
                ));
            }
        }
        match count == entries {
            true => Ok(run),
            false => {
                let reason = format!("it has {count} entries, expected {entries}");
                Err(StoreError::corrupt(
                    format!("run {id} of the index"),
                    &reason,
                ))
            }
        }
    }

    /// Whether it may have a key of this hash.
    pub(super) fn may_have(&self, hash: u64) -> bool {
        self.filter.may_have(hash)
    }

    /// What it says of a key.
    pub(super) fn get(&self, db: &sled::Db, key: &[u8]) -> Result<Option<Value>, StoreError> {
        match self.block_of(db, key)? {
            Some((_, block)) => Entries::new(block)?.find(key),
            None => Ok(None),
        }
    }

    /// The block that has the key if any has.
    fn block_of(
        &self,
        db: &sled::Db,
        wanted: &[u8],
    ) -> Result<Option<(sled::IVec, sled::IVec)>, StoreError> {
        let blocks = key(BLOCK, self.id, &[])..=key(BLOCK, self.id, wanted);
        let last = db.range(blocks).next_back();
        last.transpose().map_err(sled_error("reading"))
    }

    /// The entries whose keys begin with `prefix`, from `from` on.
    pub(super) fn range<'r>(
        &self,
        db: &sled::Db,
        prefix: &'r [u8],
        from: &'r Bound<Key>,
    ) -> Result<InRun<'r>, StoreError> {
        let start: &[u8] = match from {
            Bound::Included(start) | Bound::Excluded(start) => start,
            Bound::Unbounded => &[],
        };
        let first = match self.block_of(db, start)? {
            Some((first, _)) => first.to_vec(),
            None => key(BLOCK, self.id, start),
        };
        Ok(InRun {
            blocks: db.range(first..key(BLOCK, self.id + 1, &[])),
            block: Entries::default(),
            prefix,
            from,
        })
    }

    /// All entries.
    pub(super) fn all(&self, db: &sled::Db) -> Result<InRun<'static>, StoreError> {
        self.range(db, &[], &Bound::Unbounded)
    }
}

/// Goes through entries of a run.
pub(super) struct InRun<'r> {
    blocks: sled::Iter,
    block: Entries,
    prefix: &'r [u8],
    from: &'r Bound<Key>,
}

impl InRun<'_> {
    fn is_before(&self) -> bool {
        match self.from {
            Bound::Included(from) => self.key() < from.as_slice(),
            Bound::Excluded(from) => self.key() <= from.as_slice(),
            Bound::Unbounded => false,
        }
    }
}

impl Source for InRun<'_> {
    fn advance(&mut self) -> Result<bool, StoreError> {
        loop {
            while self.block.advance()? {
                if !self.is_before() {
                    return Ok(self.key().starts_with(self.prefix));
                }
            }
            match self.blocks.next() {
                Some(block) => self.block.begin(block.map_err(sled_error("reading"))?.1)?,
                None => return Ok(false),
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.block.key()
    }

    fn value(&self) -> Option<&[u8]> {
        self.block.value()
    }
}

/// Removes what there is of a run.
pub(super) fn remove(db: &sled::Db, id: u64) -> Result<(), StoreError> {
    remove_range(db, id, id + 1)
}

/// Removes what there is of all runs from this one on.
pub(super) fn remove_from(db: &sled::Db, id: u64) -> Result<(), StoreError> {
    remove_range(db, id, u64::MAX)
}

fn remove_range(db: &sled::Db, id: u64, end: u64) -> Result<(), StoreError> {
    for kind in [BLOCK, FILTER] {
        let mut keys = db.range(key(kind, id, &[])..key(kind, end, &[])).keys();
        loop {
            let mut batch = sled::Batch::default();
            let mut count = 0;
            for key in keys.by_ref().take(64) {
                batch.remove(key.map_err(sled_error("reading"))?);
                count += 1;
            }
            if count == 0 {
                break;
            }
            db.apply_batch(batch).map_err(sled_error("writing to"))?;
        }
    }
    Ok(())
}

/// A run in the making. It counts for nothing before a manifest names it.
#[derive(Debug)]
pub(super) struct Writer<'d> {
    db: &'d sled::Db,
    run: Run,
    block: Block,
    batch: sled::Batch,
    bytes: usize,
}

impl<'d> Writer<'d> {
    /// Begins a run of at most so many entries.
    pub(super) fn new(db: &'d sled::Db, id: u64, most: usize) -> Self {
        Self {
            db,
            run: Run {
                id,
                entries: 0,
                filter: Filter::new(most),
            },
            block: Block::default(),
            batch: sled::Batch::default(),
            bytes: 0,
        }
    }

    /// Adds the next entry.
    pub(super) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), StoreError> {
        self.run.entries += 1;
        self.run.filter.add(filter::hash(key));
        self.block.push(key, value);
        match self.block.is_full() {
            true => self.end_block(),
            false => Ok(()),
        }
    }

    /// Ends the run; the rest of it is in the batch.
    pub(super) fn finish(mut self) -> Result<(Run, sled::Batch), StoreError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let pieces = self.run.filter.as_bytes().chunks(PIECE);
        let pieces: Vec<_> = pieces.map(<[u8]>::to_vec).collect();
        for (number, piece) in (0_u64..).zip(pieces) {
            let key = key(FILTER, self.run.id, &number.to_be_bytes());
            self.insert(key, piece)?;
        }
        Ok((self.run, self.batch))
    }

    fn end_block(&mut self) -> Result<(), StoreError> {
        let (first, bytes) = self.block.take();
        self.insert(key(BLOCK, self.run.id, &first), bytes)
    }

    fn insert(&mut self, key: Key, value: Vec<u8>) -> Result<(), StoreError> {
        self.bytes += key.len() + value.len();
        self.batch.insert(key, value);
        if self.bytes < BATCH {
            return Ok(());
        }
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.db.apply_batch(batch).map_err(sled_error("writing to"))
    }
}

fn key(kind: u8, run: u64, rest: &[u8]) -> Key {
    [&[kind][..], &run.to_be_bytes(), rest].concat()
}
