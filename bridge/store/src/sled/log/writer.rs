//! Appends batches to the log, each with one write and one fsync.

use std::sync::Arc;

use super::{End, Log, LogOffset, disk::LogFile, frame, segment::HEADER};
use crate::{Result, StoreError};

/// The smallest and the largest number of zeros that are written ahead. An fsync of overwritten bytes need not write to
/// the file system's journal, which would take a third of its time.
const PREFILL: (u64, u64) = (64 << 10, 1 << 20);

/// The size of one write of zeros. A file system may cache the bytes of one write as a unit, and then counts the whole unit
/// as written for each batch within it: with writes of 1 MiB, a batch of 1 KiB counted as 1 MiB.
const PREFILL_WRITE: u64 = 16 << 10;

/// Writes the log at its end, on one thread.
#[derive(Debug)]
pub(in crate::sled) struct Writer {
    log: Arc<Log>,
    file: LogFile,
    /// The position of the file's first byte.
    base: u64,
    end: End,
    /// The end of the file. The bytes after `end` are zeros.
    file_end: u64,
    /// Whether a write has failed, so that parts of an unacknowledged batch may be after `end`.
    is_torn: bool,
    /// Whether the content of the disk is unknown, so that nothing more is written.
    has_failed: bool,
    /// The frames of the batch that is being prepared, and the position of each in it.
    batch: Vec<u8>,
    starts: Vec<usize>,
    /// The size in bytes from which a segment takes no further batch.
    pub(super) limit: u64,
}

impl Writer {
    /// Continues at the end of the segment that begins at `base`. `file` must end there.
    pub(super) fn new(log: Arc<Log>, file: LogFile, base: u64, end: End) -> Self {
        Self {
            limit: log.segments.disk.segment_limit(),
            log,
            file,
            base,
            end,
            file_end: end.at,
            is_torn: false,
            has_failed: false,
            batch: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Reserves disk space for a batch, before any record is added to it. Bytes of a failed write are removed first. A batch
    /// that finally frees disk space may use half of the reserve for the index.
    ///
    /// Errors: `Full` and `Unavailable`, after which the call can be repeated. After any other error nothing more is written.
    pub(in crate::sled) fn make_room(&mut self, bytes: u64, is_freeing: bool) -> Result<()> {
        let done = self.try_make_room(bytes, is_freeing);
        self.record_failure(done)
    }

    fn try_make_room(&mut self, bytes: u64, is_freeing: bool) -> Result<()> {
        if self.has_failed {
            return Err(StoreError::Closed);
        }
        if self.is_torn {
            self.truncate()?;
        }
        if self.end.at - self.base > self.limit {
            self.next_segment()?;
        }
        self.log.segments.check_reserve(is_freeing)?;
        self.prefill(self.end.at + bytes)
    }

    /// Records a failure, after which nothing more is written: a failed sync must not be repeated, since the system marks
    /// bytes as written even if it has failed to write them.
    fn record_failure<T>(&mut self, done: Result<T>) -> Result<T> {
        match &done {
            Ok(_) | Err(StoreError::Full { .. } | StoreError::Unavailable { .. }) => {}
            Err(_) if self.has_failed => {}
            Err(error) => {
                tracing::error!("the store takes no more events: {error}");
                self.has_failed = true;
            }
        }
        done
    }

    /// Adds a record to the batch. `write` appends the bytes of the record.
    pub(in crate::sled) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> LogOffset {
        let start = self.batch.len();
        self.starts.push(start);
        frame::begin(&mut self.batch);
        write(&mut self.batch);
        let length = self.batch.len() - start - frame::HEADER;
        LogOffset { at: self.end.at + start as u64, length: length as u32 }
    }

    /// Returns whether the batch is empty.
    pub(in crate::sled) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Makes the batch durable. Returns its end. The batch is empty afterwards, also after an error.
    ///
    /// Errors: `Full` if nothing of the batch is on the disk. After any other error the content of the disk is unknown.
    pub(in crate::sled) fn commit(&mut self) -> Result<End> {
        self.seal();
        let written = self.write();
        let length = self.batch.len() as u64;
        self.batch.clear();
        self.batch.shrink_to(PREFILL.1 as usize);
        self.starts.clear();
        if let Err(error) = written {
            // The batch can only be refused if it is certain that nothing of it is on the disk.
            let gone = self.truncate();
            return self.record_failure(gone.and(Err(error)));
        }
        self.end.at += length;
        self.end.batch += 1;
        self.file_end = self.file_end.max(self.end.at);
        Ok(self.end)
    }

    fn write(&self) -> Result<()> {
        let failed = |error| StoreError::io(self.doing("writing"), error);
        let offset = self.end.at - self.base;
        let written = self.file.write_all_at(&self.batch, offset);
        written.and_then(|()| self.file.sync_bytes()).map_err(failed)
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

    /// Removes all bytes after the end.
    ///
    /// Errors: `Io`, after which it is unknown whether the bytes were removed.
    fn truncate(&mut self) -> Result<()> {
        let doing = self.doing("cutting off what could not be written to");
        let failed = |error| StoreError::Io { doing: doing.clone(), error };
        self.file.set_length(self.end.at - self.base).map_err(failed)?;
        self.file_end = self.end.at;
        self.file.sync().map_err(failed)?;
        self.is_torn = false;
        Ok(())
    }

    /// Writes zeros at the end of the file if a batch that ends at `end` would be longer than the file.
    fn prefill(&mut self, end: u64) -> Result<()> {
        if end <= self.file_end {
            return Ok(());
        }
        let ahead = end + (end - self.base).clamp(PREFILL.0, PREFILL.1);
        while self.file_end < ahead {
            let offset = self.file_end - self.base;
            // Writes end at multiples, so that the units of the file system's cache do not overlap.
            let length = (PREFILL_WRITE - offset % PREFILL_WRITE).min(ahead - self.file_end);
            let zeros = &[0; PREFILL_WRITE as usize][..length as usize];
            if let Err(error) = self.file.write_all_at(zeros, offset) {
                // The zeros that were written must be removed to free their space.
                self.is_torn = true;
                return Err(StoreError::io(self.doing("enlarging"), error));
            }
            self.file_end += length;
        }
        Ok(())
    }

    /// Describes an operation on the newest segment, for error messages.
    fn doing(&self, what: &str) -> String {
        format!("{what} {}", self.log.segments.path(self.base).display())
    }

    /// Begins a new segment at the end of this one.
    fn next_segment(&mut self) -> Result<()> {
        self.truncate()?;
        let base = self.end.at;
        let file = self.log.segments.create(base)?;
        self.log.add(base, &file);
        self.file = file;
        self.base = base;
        self.end.at += HEADER;
        self.file_end = self.end.at;
        Ok(())
    }
}
