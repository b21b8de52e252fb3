//! Appends to the log: a batch is one write and one fsync.

use std::sync::Arc;

use super::{End, Log, LogOffset, disk::LogFile, frame, segment::HEADER};
use crate::StoreError;

/// The bytes of zeros that are written ahead, at first and at most. An fsync of bytes that the file had before need not
/// write to the file system's journal, which takes a third of its time.
const AHEAD: (u64, u64) = (64 << 10, 1 << 20);

/// The size of one write of zeros. A file system may keep the bytes of one write as one unit of its cache, and then counts
/// the whole unit as written again for every batch within it: with writes of 1 MiB, a batch of 1 KiB counted as 1 MiB.
const ZEROS: u64 = 16 << 10;

/// The end of the log, where one thread writes.
#[derive(Debug)]
pub(in crate::sled) struct Writer {
    log: Arc<Log>,
    file: LogFile,
    /// The position of the file's first byte.
    base: u64,
    end: End,
    /// The end of the file's bytes; those after `end` are zeros.
    filled: u64,
    /// Whether a write has failed, so that parts of an unacknowledged batch may be behind `end`.
    is_torn: bool,
    /// Whether the content of the disk is unknown, so that nothing more is written.
    has_failed: bool,
    /// The frames of the batch that is being prepared, and the beginning of each.
    batch: Vec<u8>,
    starts: Vec<usize>,
    /// The size in bytes from which a segment takes no further batch.
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

    /// Makes room for a batch of so many bytes, before any record is added to it. Bytes that an earlier failure left are
    /// removed first. A batch that frees disk space in the end may use half of the reserve for the index.
    ///
    /// Errors: `Full` if there is no room; nothing has changed then, and the call may be repeated. After any other error
    /// nothing more is written.
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

    /// A failed sync must not be repeated: the system marks bytes as written even if it has failed to write them.
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

    /// Makes the batch durable. Returns the position before which everything is durable. The batch is empty afterwards,
    /// after an error too.
    ///
    /// Errors: `Full` if there was no room, and nothing of the batch is there; after any other error the content of the
    /// disk is unknown.
    pub(in crate::sled) fn commit(&mut self) -> Result<End, StoreError> {
        self.seal();
        let written = self.write();
        let length = self.batch.len() as u64;
        self.batch.clear();
        self.batch.shrink_to(AHEAD.1 as usize);
        self.starts.clear();
        if let Err(error) = written {
            // A batch can only be refused if it is certain that the disk has nothing of it.
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

    /// Removes all bytes behind the end.
    ///
    /// Errors: `Io`, after which the bytes may be there or not.
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

    /// Writes zeros behind the file's bytes if a batch that ends at `end` would reach beyond them.
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
