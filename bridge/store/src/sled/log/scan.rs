//! Reads some records of a full segment at a time.

use super::{Log, LogEntry, LogOffset, disk::LogFile, frame, frame::Frame, segment::HEADER};
use crate::{Result, StoreError};

/// The approximate largest size of a record with its frame.
const MAX_RECORD: u64 = 80 << 20;

impl Log {
    /// Passes the records of a full segment from `start` on to `visit`, up to a size of `limit` bytes or to the end of the
    /// segment, `end`. Returns the position after them.
    ///
    /// Errors: `Io`.
    pub(in crate::sled) fn records(
        &self,
        start: u64,
        end: u64,
        limit: usize,
        visit: &mut dyn FnMut(&LogEntry<'_>),
    ) -> Result<u64> {
        let _lock = self.lock_segments();
        let (base, file) = self.segment(start)?;
        let (start, mut length) = (start.max(base + HEADER), limit as u64);
        loop {
            let wanted = length.min(end.saturating_sub(start));
            let bytes = self.read_range(&file, base, start, wanted)?;
            let is_all = start + wanted >= end;
            let read = visit_records(&bytes, start, is_all || length >= MAX_RECORD, visit);
            match read {
                // The first record is larger.
                0 if !is_all && length < MAX_RECORD => length *= 4,
                read if is_all => return Ok(end.max(start + read as u64)),
                read => return Ok(start + read as u64),
            }
        }
    }

    /// Reads `length` bytes of a file from a position on, or fewer if the file ends before.
    fn read_range(&self, file: &LogFile, base: u64, start: u64, length: u64) -> Result<Vec<u8>> {
        let failed = |error| StoreError::io(format!("reading {}", self.name(base, 0)), error);
        let there = (base + file.length().map_err(failed)?).saturating_sub(start);
        let mut bytes = vec![0; length.min(there) as usize];
        file.read_exact_at(&mut bytes, start - base).map_err(failed)?;
        Ok(bytes)
    }
}

/// Visits the valid records at the beginning of `bytes`, and the damaged ranges between them. Returns their size. An
/// incomplete record at the end is left for the next call, unless these bytes are the last.
fn visit_records(
    bytes: &[u8],
    start: u64,
    is_all: bool,
    visit: &mut dyn FnMut(&LogEntry<'_>),
) -> usize {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let position = start + at as u64;
        if let Some(frame) = Frame::read(rest) {
            let length = frame.record.len() as u32;
            let offset = LogOffset { at: position, length };
            visit(&LogEntry::Record(offset, frame.record));
            at += frame.len();
            continue;
        }
        match frame::find(rest, 0) {
            Some((found, _)) => {
                visit(&LogEntry::Damaged(position, &rest[..found]));
                at += found;
            }
            None if is_all => {
                visit(&LogEntry::Damaged(position, rest));
                at = bytes.len();
            }
            None => break,
        }
    }
    at
}
