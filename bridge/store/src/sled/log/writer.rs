//! Appending to the log: a batch is one write and one fsync.

use std::sync::Arc;

use super::{End, Log, LogOffset, disk::LogFile, frame, segment::HEADER};
use crate::StoreError;

/// How far zeros are written ahead, at first and at most. An fsync of bytes that the file had before need
/// not write to the file system's journal, which is a third of its time.
const AHEAD: (u64, u64) = (64 << 10, 1 << 20);

/// The size of one write of zeros. A file system may keep what one write brings as one unit of its cache, and then counts
/// all of it as written again by every batch within it: with writes of 1 MiB, a batch of 1 KiB counted as 1 MiB.
const ZEROS: u64 = 16 << 10;

/// The end of the log, where one thread writes.
#[derive(Debug)]
pub(in crate::sled) struct Writer {
    log: Arc<Log>,
    file: LogFile,
    /// The position of the file's first byte.
    base: u64,
    end: End,
    /// Up to this position the file has bytes, zeros after `end`.
    filled: u64,
    /// A write has failed: behind `end` may stand parts of a batch that nobody was told of.
    is_torn: bool,
    /// Nobody knows what the disk holds, so nothing more is written.
    has_failed: bool,
    /// The frames of the batch in the making, and where each begins.
    batch: Vec<u8>,
    starts: Vec<usize>,
    /// A segment that has so many bytes takes no further batch.
    pub(super) limit: u64,
}

impl Writer {
    /// Goes on at the end of the segment that begins at `base`; `file` ends there too.
    pub(super) fn new(log: Arc<Log>, file: LogFile, base: u64, end: End) -> Self {
        Self {
            limit: log.segments.disk.segment_limit(),
            log,
            file,
            base,
            end,
            filled: end.at,
            is_torn: false,
            has_failed: false,
            batch: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Makes room for a batch of so many bytes, before any of it is put. What an earlier failure left behind
    /// is removed first. What leads to more room may use half of what is kept for the index.
    ///
    /// Errors: `Full` if there is no room; then nothing has changed, and it may be asked for again. After any other
    /// error nothing more is written.
    pub(in crate::sled) fn make_room(
        &mut self,
        bytes: u64,
        is_freeing: bool,
    ) -> Result<(), StoreError> {
        let done = self.try_make_room(bytes, is_freeing);
        self.note(done)
    }

    fn try_make_room(&mut self, bytes: u64, is_freeing: bool) -> Result<(), StoreError> {
        if self.has_failed {
            return Err(StoreError::Closed);
        }
        if self.is_torn {
            self.truncate()?;
        }
        if self.end.at - self.base > self.limit {
            self.roll()?;
        }
        self.log.segments.check_reserve(is_freeing)?;
        self.fill(self.end.at + bytes)
    }

    /// A sync that failed is not to be tried again: the system takes for written what it has failed to write.
    fn note<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.has_failed |= matches!(&done, Err(error) if !matches!(error, StoreError::Full { .. }));
        done
    }

    /// Takes a record into the batch; `write` appends its bytes.
    pub(in crate::sled) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> LogOffset {
        let start = self.batch.len();
        self.starts.push(start);
        frame::begin(&mut self.batch);
        write(&mut self.batch);
        let length = self.batch.len() - start - frame::HEADER;
        LogOffset {
            at: self.end.at + start as u64,
            length: length as u32,
        }
    }

    /// Whether no record is in the batch.
    pub(in crate::sled) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Makes the batch durable; all before the position that it answers with is. The batch is empty afterwards,
    /// whatever came of it.
    ///
    /// Errors: `Full` if there was no room, and nothing of the batch is there; after any other error nobody knows
    /// what the disk holds.
    pub(in crate::sled) fn commit(&mut self) -> Result<End, StoreError> {
        self.seal();
        let written = self.write();
        let length = self.batch.len() as u64;
        self.batch.clear();
        self.batch.shrink_to(AHEAD.1 as usize);
        self.starts.clear();
        if let Err(error) = written {
            // Only what is surely gone can be refused as if it had never been there.
            let gone = self.truncate();
            return self.note(gone.and(Err(error)));
        }
        self.end.at += length;
        self.end.batch += 1;
        self.filled = self.filled.max(self.end.at);
        Ok(self.end)
    }

    fn write(&self) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("appending to the log", error);
        let offset = self.end.at - self.base;
        let written = self.file.write_all_at(&self.batch, offset);
        written
            .and_then(|()| self.file.sync_bytes())
            .map_err(failed)
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

    /// Removes all behind the end.
    ///
    /// Errors: `Io`: it may be there or not.
    fn truncate(&mut self) -> Result<(), StoreError> {
        let failed = |source| StoreError::Io {
            doing: "cutting off what could not be written to the log".into(),
            source,
        };
        self.file
            .set_length(self.end.at - self.base)
            .map_err(failed)?;
        self.filled = self.end.at;
        self.file.sync().map_err(failed)?;
        self.is_torn = false;
        Ok(())
    }

    /// Writes zeros behind what is filled if a batch that ends at `end` would reach beyond it.
    fn fill(&mut self, end: u64) -> Result<(), StoreError> {
        if end <= self.filled {
            return Ok(());
        }
        let ahead = end + (end - self.base).clamp(AHEAD.0, AHEAD.1);
        let failed = |error| StoreError::io("making room in the log", error);
        while self.filled < ahead {
            let offset = self.filled - self.base;
            // Up to the next multiple, so that the pieces of the file's cache do not overlap.
            let length = (ZEROS - offset % ZEROS).min(ahead - self.filled);
            let zeros = &[0; ZEROS as usize][..length as usize];
            if let Err(error) = self.file.write_all_at(zeros, offset) {
                // Some of the zeros may be there, and would take the room that others wait for.
                self.is_torn = true;
                return Err(failed(error));
            }
            self.filled += length;
        }
        Ok(())
    }

    /// Begins a new segment where this one ends.
    fn roll(&mut self) -> Result<(), StoreError> {
        self.truncate()?;
        let base = self.end.at;
        let file = self.log.segments.create(base)?;
        self.log.add(base, &file);
        self.file = file;
        self.base = base;
        self.end.at += HEADER;
        self.filled = self.end.at;
        Ok(())
    }
}
