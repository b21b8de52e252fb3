//! Opens the log: reads every record after a position, detects damaged ones, and finds the end, where a crash may have torn
//! a batch.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Disk, End, Log, LogOffset, Writer,
    disk::LogFile,
    frame,
    frame::Frame,
    segment::{HEADER, Segments},
};
use crate::{Result, StoreError};

/// More than the size of the largest segment in bytes: a full one, a batch with an append of the largest size, and zeros.
const MAX_SEGMENT: u64 = 256 << 20;

/// A record or a damaged range of the log.
#[derive(Debug)]
pub(in crate::sled) enum LogEntry<'b> {
    Record(LogOffset, &'b [u8]),
    /// A damaged range with its position. It had one or several records.
    Damaged(u64, &'b [u8]),
}

/// Receives each entry, and the end of its batch as far as it was read.
type Visit<'v> = &'v mut dyn FnMut(&LogEntry<'_>, End) -> Result<()>;

/// Opens the log in a folder of a disk, of which the records up to `known` were read before. Missing ranges are reported;
/// they only affect the tasks whose records they had. All data that can be read afterwards are durable.
///
/// Errors: `Newer`, `Io`, `Full`.
pub(in crate::sled) fn open(disk: Arc<dyn Disk>, folder: &Path, known: End) -> Result<Arc<Log>> {
    let segments = Segments { disk, folder: folder.into() };
    // A crash may have interrupted the removal of segments.
    segments.remove_before_begin()?;
    let mut bases = segments.list()?;
    // An empty segment is created again when it is needed, because its name may not be durable.
    if let Some(&last) = bases.last()
        && segments.is_empty(last)?
    {
        segments.forget_newest(last)?;
        segments.remove(last)?;
        bases.pop();
    }
    segments.sync()?;
    let log = Arc::new(Log::new(segments, bases));
    if let Some(newest) = lost_newest(&log)? {
        // Its length is not known, but it had a header.
        log.record_lost(newest.max(known.at)..newest + HEADER);
    }
    settle_end(&log, known)?;
    check_lengths(&log, known)?;
    Ok(log)
}

/// Returns the recorded newest segment if it is missing. The index may not know of its records, so that nothing else would
/// miss them.
fn lost_newest(log: &Log) -> Result<Option<u64>> {
    let last = log.bases().last().copied();
    let newest = log.segments.newest()?;
    Ok(newest.filter(|newest| last.is_none_or(|last| last < *newest)))
}

/// Returns the names of the files of a log that may be in use: the file with the beginning, and the segments, newest last.
pub(in crate::sled) fn names(disk: Arc<dyn Disk>, folder: &Path) -> Result<Vec<PathBuf>> {
    let segments = Segments { disk, folder: folder.into() };
    segments.names()
}

/// Makes the readable batches of the newest segment durable, and cuts off torn bytes, which were never acknowledged.
///
/// The last batch of a killed process may only be in the system's memory. If a sync of it has failed, a new sync does not
/// write its bytes, since the system has marked them as written. So the last batch is written again.
fn settle_end(log: &Log, known: End) -> Result<()> {
    let bases = log.bases();
    let Some(&base) = bases.last() else {
        return Ok(());
    };
    // The number of the first batch of this segment is known from the segment before.
    let before = bases.len().checked_sub(2).map_or(base, |before| bases[before]);
    let from = if known.at > before { known } else { End { at: before, batch: 0 } };
    let (mut last, mut start) = (from, from.at);
    let end = walk(log, from, &mut |entry, end| {
        if end != last {
            last = end;
            start = match *entry {
                LogEntry::Record(offset, _) => offset.at,
                LogEntry::Damaged(at, _) => at,
            };
        }
        Ok(())
    })?;
    let path = log.segments.path(base);
    let failed = |error| StoreError::io(format!("settling the end of {}", path.display()), error);
    let settle = || {
        let file = log.segments.disk.open(&path)?;
        if base + file.length()? < end.at {
            return Ok(());
        }
        if start > base && start < end.at {
            let mut batch = vec![0; (end.at - start) as usize];
            file.read_exact_at(&mut batch, start - base)?;
            file.write_all_at(&batch, start - base)?;
        }
        file.set_length(end.at - base)?;
        file.sync()
    };
    settle().map_err(failed)
}

/// Passes all entries after `from` to `visit`, and returns the end of the last complete batch. Damaged and missing ranges
/// before the end are reported.
///
/// Errors: `Newer`, `Io`, and those of `visit`.
pub(in crate::sled) fn walk(log: &Log, from: End, visit: Visit<'_>) -> Result<End> {
    let _lock = log.lock_segments();
    let bases = log.bases();
    let mut walk = Walk { log, end: from, visit };
    let mut bytes = Vec::new();
    let first = bases.partition_point(|base| *base <= from.at);
    for (index, base) in bases.iter().enumerate().skip(first.saturating_sub(1)) {
        walk.segment(*base, bases.get(index + 1).copied(), &mut bytes)?;
    }
    Ok(walk.end)
}

/// Records missing and too short segments. The log up to `known` is not read again, so this would not be detected
/// otherwise.
fn check_lengths(log: &Log, known: End) -> Result<()> {
    let bases = log.bases();
    let mut end = log.segments.begin()?;
    for (index, &base) in bases.iter().enumerate() {
        log.record_lost(end.min(base)..base);
        let path = log.segments.path(base);
        let failed = |error| StoreError::io(format!("reading {}", path.display()), error);
        let length = log.segments.disk.open(&path).and_then(|file| file.length());
        let length = length.map_err(failed)?;
        end = base + length;
        // The newest segment may be longer than its data.
        if index + 1 == bases.len() && end >= known.at {
            return Ok(());
        }
    }
    log.record_lost(end.min(known.at)..known.at);
    Ok(())
}

/// Creates the writer that continues at `end`, after the last complete batch.
///
/// Errors: `Io`, `Full`.
pub(in crate::sled) fn writer(log: &Arc<Log>, end: End) -> Result<Writer> {
    let new = |base, file: LogFile, end| {
        log.add(base, &file);
        Writer::new(Arc::clone(log), file, base, end)
    };
    let lost = lost_newest(log)?;
    if let Some(&base) = log.bases().last()
        && lost.is_none()
    {
        let path = log.segments.path(base);
        let failed = |error| StoreError::io(format!("opening {}", path.display()), error);
        let file = log.segments.disk.open(&path).map_err(failed)?;
        let is_complete = base + file.length().map_err(failed)? >= end.at;
        if is_complete && !log.segments.is_older_version(&file) {
            log.segments.set_newest(base)?;
            return Ok(new(base, file, end));
        }
    }
    // No position is used twice, so lost positions at the end are skipped, and positions before the log's beginning too. An
    // older program refuses the new segment.
    let skipped = lost.map_or(0, |lost| lost + HEADER);
    let base = end.at.max(log.segments.begin()?).max(skipped);
    let file = log.segments.create(base)?;
    let at = base + HEADER;
    Ok(new(base, file, End { at, ..end }))
}

/// A walk through the segments.
struct Walk<'w, 'v> {
    log: &'w Log,
    /// The position after the last visited record.
    end: End,
    visit: Visit<'v>,
}

impl Walk<'_, '_> {
    /// Walks through the segment that begins at `base`; `next` is the beginning of the next segment. The segment is read into
    /// `bytes`, whose memory is reused for all segments.
    fn segment(&mut self, base: u64, next: Option<u64>, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(file) = self.log.segments.open(base)? else {
            self.log.record_lost(base..next.unwrap_or(base));
            return Ok(());
        };
        self.end.at = self.end.at.max(base + HEADER);
        let start = self.end.at - base;
        let failed = |error| StoreError::io(format!("reading {}", self.log.name(base, 0)), error);
        // The segment may be shorter than at the last start.
        if !read_rest(&file, start, bytes).map_err(failed)? {
            return Ok(());
        }
        // Bytes after the beginning of the next segment were cut off, but not durably.
        if let Some(next) = next {
            bytes.truncate(next.saturating_sub(self.end.at) as usize);
        }
        let mut rest = bytes.as_slice();
        loop {
            while let Some(batch) = Batch::read(rest, self.end.batch + 1) {
                rest = &rest[batch.length..];
                self.visit_batch(&batch)?;
            }
            match self.skip_damaged(rest, next.is_none())? {
                Some(length) => rest = &rest[length..],
                None => break,
            }
        }
        Ok(())
    }

    fn visit_batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        let mut at = self.end.at;
        self.end = End { at: at + batch.length as u64, batch: batch.number };
        for frame in &batch.frames {
            self.visit_frame(at, frame)?;
            at += frame.len() as u64;
        }
        Ok(())
    }

    fn visit_frame(&mut self, at: u64, frame: &Frame<'_>) -> Result<()> {
        let length = frame.record.len() as u32;
        let seen = LogEntry::Record(LogOffset { at, length }, frame.record);
        (self.visit)(&seen, self.end)
    }

    /// Visits the valid frames at the beginning of an incomplete batch, and the damaged range up to the next valid frame.
    /// Returns their size; `None` at the end of the log, where damaged bytes were never acknowledged.
    fn skip_damaged(&mut self, rest: &[u8], is_last: bool) -> Result<Option<usize>> {
        let batch = self.end.batch + 1;
        let number = Frame::read_near(rest, batch).map_or(batch, |frame| frame.batch);
        let valid = valid_frames(rest, number);
        let valid_bytes: usize = valid.iter().map(Frame::len).sum();
        if rest.is_empty() || is_last && !frame::contains_later(&rest[valid_bytes..], number) {
            return Ok(None);
        }
        let found = frame::find(&rest[valid_bytes..], number);
        let length = found.map_or(rest.len(), |(found, _)| valid_bytes + found);
        // The batch may continue after the damaged range.
        self.end.batch = number - 1;
        for frame in &valid {
            let at = self.end.at;
            self.end.at += frame.len() as u64;
            self.visit_frame(at, frame)?;
        }
        let at = self.end.at;
        self.end.at += (length - valid_bytes) as u64;
        self.log.record_lost(at..self.end.at);
        (self.visit)(&LogEntry::Damaged(at, &rest[valid_bytes..length]), self.end)?;
        Ok(Some(length))
    }
}

/// A complete batch.
struct Batch<'b> {
    number: u64,
    frames: Vec<Frame<'b>>,
    length: usize,
}

impl<'b> Batch<'b> {
    /// Returns the batch at the beginning of `bytes`, if it is complete. Its number may be higher than `lowest`, since batches
    /// before it may be lost.
    fn read(bytes: &'b [u8], lowest: u64) -> Option<Self> {
        let number = Frame::read_near(bytes, lowest)?.batch;
        let frames = valid_frames(bytes, number);
        let is_complete = frames.last().is_some_and(|frame| frame.is_last);
        is_complete.then(|| Self { number, length: frames.iter().map(Frame::len).sum(), frames })
    }
}

/// Returns the valid frames of a batch at the beginning of `bytes`, up to its last one.
fn valid_frames(bytes: &[u8], batch: u64) -> Vec<Frame<'_>> {
    let (mut frames, mut at) = (Vec::new(), 0);
    while let Some(frame) = Frame::read(&bytes[at..]).filter(|frame| frame.batch == batch) {
        at += frame.len();
        frames.push(frame);
        if frame.is_last {
            break;
        }
    }
    frames
}

/// Reads from `start` to the end of the file. Returns `false` if the file ends before `start`. Bytes that no segment can have,
/// of a file with a damaged length, are not read.
fn read_rest(file: &LogFile, start: u64, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let Some(length) = file.length()?.min(MAX_SEGMENT).checked_sub(start) else {
        return Ok(false);
    };
    bytes.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
    file.read_exact_at(bytes, start)?;
    Ok(true)
}
