//! Appending to the log: a batch is one write and one fsync.

use std::{fs::File, os::unix::fs::FileExt as _, sync::Arc};

use super::{End, Log, Place, frame, segment};
use crate::store::StoreError;

/// The bytes of a segment, roughly.
const SEGMENT: u64 = 64 << 20;
/// How far zeros are written ahead, at first and at most. An fsync of bytes that the file had before need
/// not write to the file system's journal, which is a third of its time.
const AHEAD: (u64, u64) = (64 << 10, 1 << 20);

/// The end of the log, where one thread writes.
#[derive(Debug)]
pub(in crate::store::sled) struct Writer {
    log: Arc<Log>,
    file: Arc<File>,
    /// The position of the file's first byte.
    base: u64,
    end: End,
    /// Up to this position the file has bytes, zeros after `end`.
    filled: u64,
    /// The frames of the batch in the making, and where each begins.
    batch: Vec<u8>,
    starts: Vec<usize>,
    /// A segment that has so many bytes takes no further batch.
    pub(super) limit: u64,
}

impl Writer {
    /// Goes on at the end of the segment that begins at `base`; `file` ends there too.
    pub(super) fn new(log: Arc<Log>, file: Arc<File>, base: u64, end: End) -> Self {
        Self {
            log,
            file,
            base,
            end,
            filled: end.at,
            batch: Vec::new(),
            starts: Vec::new(),
            limit: SEGMENT,
        }
    }

    /// Takes a record into the batch; `write` appends its bytes.
    pub(in crate::store::sled) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Place {
        let start = self.batch.len();
        self.starts.push(start);
        frame::begin(&mut self.batch);
        write(&mut self.batch);
        let length = self.batch.len() - start - frame::HEADER;
        Place {
            at: self.end.at + start as u64,
            length: length as u32,
        }
    }

    /// Whether no record is in the batch.
    pub(in crate::store::sled) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Makes the batch durable; all before the position that it answers with is. After an error nobody
    /// knows what the disk holds.
    pub(in crate::store::sled) fn commit(&mut self) -> Result<End, StoreError> {
        self.seal();
        let failed = |error| StoreError::io("appending to the log", error);
        let end = End {
            at: self.end.at + self.batch.len() as u64,
            batch: self.end.batch + 1,
        };
        self.fill(end.at);
        let offset = self.end.at - self.base;
        self.file
            .write_all_at(&self.batch, offset)
            .map_err(failed)?;
        self.file.sync_data().map_err(failed)?;
        self.batch.clear();
        self.batch.shrink_to(AHEAD.1 as usize);
        self.starts.clear();
        self.end = end;
        if end.at - self.base > self.limit {
            self.roll()?;
        }
        Ok(self.end)
    }

    fn seal(&mut self) {
        let mut end = self.batch.len();
        let batch = self.end.batch + 1;
        for (index, start) in self.starts.iter().enumerate().rev() {
            let is_last = index + 1 == self.starts.len();
            frame::seal(&mut self.batch[*start..end], batch, is_last);
            end = *start;
        }
    }

    /// Adds zeros to a batch that reaches beyond what is filled.
    fn fill(&mut self, end: u64) {
        if end > self.filled {
            let ahead = (end - self.base).clamp(AHEAD.0, AHEAD.1);
            let length = self.batch.len() as u64 + ahead;
            self.batch.resize(length as usize, 0);
            self.filled = end + ahead;
        }
    }

    /// Begins a new segment where this one ends.
    fn roll(&mut self) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("closing a segment of the log", error);
        let length = self.end.at - self.base;
        self.file.set_len(length).map_err(failed)?;
        self.file.sync_all().map_err(failed)?;
        self.base = self.end.at;
        self.file = Arc::new(segment::create(self.log.folder(), self.base)?);
        self.log.add(self.base, &self.file);
        self.end.at += segment::HEADER;
        self.filled = self.end.at;
        Ok(())
    }
}
