//! Reads a stretch of a full segment, some records at a time.

use super::{Log, LogEntry, LogOffset, disk::LogFile, frame, frame::Frame, segment::HEADER};
use crate::StoreError;

/// The approximate largest size of a record with its frame.
const MOST: u64 = 80 << 20;

impl Log {
    /// Shows the records of a full segment from `start` on, until they have `limit` bytes together or the segment ends at
    /// `end`. Returns the position behind them.
    ///
    /// Errors: `Io`.
    pub(in crate::sled) fn records(
        &self,
        start: u64,
        end: u64,
        limit: usize,
        visit: &mut dyn FnMut(&LogEntry<'_>),
    ) -> Result<u64, StoreError> {
        let _stay = self.stay();
        let (base, file) = self.segment(start)?;
        let (start, mut length) = (start.max(base + HEADER), limit as u64);
        loop {
            let wanted = length.min(end.saturating_sub(start));
            let bytes = self.stretch(&file, base, start, wanted)?;
            let is_all = start + wanted >= end;
            let read = show(&bytes, start, is_all || length >= MOST, visit);
            match read {
                // The first record has more than that.
                0 if !is_all && length < MOST => length *= 4,
                read if is_all => return Ok(end.max(start + read as u64)),
                read => return Ok(start + read as u64),
            }
        }
    }

    /// Reads so many bytes of a file from a position on; fewer if the file ends before.
    fn stretch(
        &self,
        file: &LogFile,
        base: u64,
        start: u64,
        length: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let failed = |error| StoreError::io(format!("reading {}", self.name(base, 0)), error);
        let there = (base + file.length().map_err(failed)?).saturating_sub(start);
        let mut bytes = vec![0; length.min(there) as usize];
        file.read_exact_at(&mut bytes, start - base)
            .map_err(failed)?;
        Ok(bytes)
    }
}

/// Shows the whole records at the beginning of `bytes`, and the damaged bytes between them. Returns how many bytes that
/// were. An incomplete record at the end is left for the next call, unless these bytes are the last.
fn show(bytes: &[u8], start: u64, is_all: bool, visit: &mut dyn FnMut(&LogEntry<'_>)) -> usize {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let position = start + at as u64;
        if let Some(frame) = Frame::read(rest) {
            let length = frame.record.len() as u32;
            let place = LogOffset {
                at: position,
                length,
            };
            visit(&LogEntry::Record(place, frame.record));
            at += frame.len();
            continue;
        }
        match frame::find(rest, 0) {
            Some((found, _)) => {
                visit(&LogEntry::Broken(position, &rest[..found]));
                at += found;
            }
            None if is_all => {
                visit(&LogEntry::Broken(position, rest));
                at = bytes.len();
            }
            None => break,
        }
    }
    at
}
