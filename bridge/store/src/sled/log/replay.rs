//! Opens the log: reads every record after a position, finds lost ones, and finds the end, where a crash may have torn a
//! batch.

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
use crate::StoreError;

/// A part of the log.
#[derive(Debug)]
pub(in crate::sled) enum LogEntry<'b> {
    /// A record and its place.
    Record(LogOffset, &'b [u8]),
    /// Bytes from this position on that were one record or several, and are damaged.
    Broken(u64, &'b [u8]),
}

/// Receives each part, and the end of its batch as far as it is read.
type Visit<'v> = &'v mut dyn FnMut(&LogEntry<'_>, End) -> Result<(), StoreError>;

/// Opens the log in a folder of a disk, of which all up to `known` was read before. Missing parts are written to the
/// program's log; they affect only the tasks whose records they had. All that can be read of the log afterwards is durable.
///
/// Errors: `Newer`, `Io`, `Full`.
pub(in crate::sled) fn open(
    disk: Arc<dyn Disk>,
    folder: &Path,
    known: End,
) -> Result<Arc<Log>, StoreError> {
    let segments = Segments {
        disk,
        folder: folder.into(),
    };
    // A crash may have left segments that were about to be removed.
    segments.remove_before_begin()?;
    let mut bases = segments.list()?;
    // An empty one is made again when it is needed: perhaps its name never became durable.
    if let Some(&last) = bases.last()
        && segments.is_empty(last)?
    {
        segments.remove(last)?;
        bases.pop();
    }
    segments.sync()?;
    let log = Arc::new(Log::new(segments, bases));
    settle_end(&log, known)?;
    check_lengths(&log, known)?;
    Ok(log)
}

/// The names of the files of a log to which another process may write: the name of its beginning, and its segments, the
/// newest last.
pub(in crate::sled) fn names(
    disk: Arc<dyn Disk>,
    folder: &Path,
) -> Result<Vec<PathBuf>, StoreError> {
    let segments = Segments {
        disk,
        folder: folder.into(),
    };
    segments.names()
}

/// Makes the newest segment durable as it is read, and cuts off torn bytes, which were never acknowledged.
///
/// A killed process may have left a batch that is in the system's memory only. If a sync of its last batch has failed, a
/// new sync does not write these bytes again, since the system has marked them as written. So the last batch is written
/// once more.
fn settle_end(log: &Log, known: End) -> Result<(), StoreError> {
    let bases = log.bases();
    let Some(&base) = bases.last() else {
        return Ok(());
    };
    // The segment before has the number of the batch that comes first.
    let before = bases
        .len()
        .checked_sub(2)
        .map_or(base, |before| bases[before]);
    let from = match known.at > before {
        true => known,
        false => End {
            at: before,
            batch: 0,
        },
    };
    let (mut last, mut start) = (from, from.at);
    let end = walk(log, from, &mut |entry, end| {
        if end != last {
            last = end;
            start = match *entry {
                LogEntry::Record(offset, _) => offset.at,
                LogEntry::Broken(at, _) => at,
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

/// Shows everything after `from` to `visit`, and returns the end of the last whole batch. Damaged or missing parts before
/// the end are skipped, and written to the program's log.
///
/// Errors: `Newer`, `Io`, and those of `visit`.
pub(in crate::sled) fn walk(log: &Log, from: End, visit: Visit<'_>) -> Result<End, StoreError> {
    let _stay = log.stay();
    let bases = log.bases();
    let mut walk = Walk {
        log,
        end: from,
        visit,
    };
    let mut bytes = Vec::new();
    let first = bases.partition_point(|base| *base <= from.at);
    for (index, base) in bases.iter().enumerate().skip(first.saturating_sub(1)) {
        walk.segment(*base, bases.get(index + 1).copied(), &mut bytes)?;
    }
    Ok(walk.end)
}

/// Remembers segments that are missing or too short. The part up to `known` was read before, so that nothing else would
/// notice them.
fn check_lengths(log: &Log, known: End) -> Result<(), StoreError> {
    let bases = log.bases();
    let mut end = log.segments.begin()?;
    for (index, &base) in bases.iter().enumerate() {
        log.note_lost(end.min(base)..base);
        let path = log.segments.path(base);
        let failed = |error| StoreError::io(format!("reading {}", path.display()), error);
        let length = log.segments.disk.open(&path).and_then(|file| file.length());
        let length = length.map_err(failed)?;
        end = base + length;
        // The newest segment has zeros behind its end.
        if index + 1 == bases.len() && end >= known.at {
            return Ok(());
        }
    }
    log.note_lost(end.min(known.at)..known.at);
    Ok(())
}

/// Creates the writer that goes on at `end`, behind the last whole batch.
///
/// Errors: `Io`, `Full`.
pub(in crate::sled) fn writer(log: &Arc<Log>, end: End) -> Result<Writer, StoreError> {
    let new = |base, file: LogFile, end| {
        log.add(base, &file);
        Writer::new(Arc::clone(log), file, base, end)
    };
    if let Some(&base) = log.bases().last() {
        let path = log.segments.path(base);
        let failed = |error| StoreError::io(format!("opening {}", path.display()), error);
        let file = log.segments.disk.open(&path).map_err(failed)?;
        let is_whole = base + file.length().map_err(failed)? >= end.at;
        if is_whole && !log.segments.is_earlier(&file) {
            return Ok(new(base, file, end));
        }
    }
    // No position is given twice: positions that were lost at the end are left out. An earlier program refuses the new
    // segment. Positions before the log's beginning are not given either.
    let base = end.at.max(log.segments.begin()?);
    let file = log.segments.create(base)?;
    let at = base + HEADER;
    Ok(new(base, file, End { at, ..end }))
}

/// The state of a walk through the segments.
struct Walk<'w, 'v> {
    log: &'w Log,
    /// The position behind the last record that was shown.
    end: End,
    visit: Visit<'v>,
}

impl Walk<'_, '_> {
    /// Goes through one segment, which begins at `base`; `next` is the beginning of the segment behind it. The segment is
    /// read into `bytes`, whose memory is used for one segment after the other.
    fn segment(
        &mut self,
        base: u64,
        next: Option<u64>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let Some(file) = self.log.segments.open(base)? else {
            self.log.note_lost(base..next.unwrap_or(base));
            return Ok(());
        };
        self.end.at = self.end.at.max(base + HEADER);
        let start = self.end.at - base;
        let failed = |error| StoreError::io(format!("reading {}", self.log.name(base, 0)), error);
        // It may be shorter than it was when it was read before.
        if !read_rest(&file, start, bytes).map_err(failed)? {
            return Ok(());
        }
        // Bytes behind the next segment's beginning were cut off, though not durably.
        if let Some(next) = next {
            bytes.truncate(next.saturating_sub(self.end.at) as usize);
        }
        let mut rest = bytes.as_slice();
        loop {
            while let Some(batch) = Batch::read(rest, self.end.batch + 1) {
                rest = &rest[batch.length..];
                self.show(&batch)?;
            }
            match self.pass_over(rest, next.is_none())? {
                Some(length) => rest = &rest[length..],
                None => break,
            }
        }
        Ok(())
    }

    fn show(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let mut at = self.end.at;
        self.end = End {
            at: at + batch.length as u64,
            batch: batch.number,
        };
        for frame in &batch.frames {
            self.show_frame(at, frame)?;
            at += frame.len() as u64;
        }
        Ok(())
    }

    fn show_frame(&mut self, at: u64, frame: &Frame<'_>) -> Result<(), StoreError> {
        let length = frame.record.len() as u32;
        let seen = LogEntry::Record(LogOffset { at, length }, frame.record);
        (self.visit)(&seen, self.end)
    }

    /// Shows the whole and the damaged records of a batch that is not whole, up to the next whole record. Returns how many
    /// bytes these are; `None` at the end, where damaged bytes were torn before they were acknowledged.
    fn pass_over(&mut self, rest: &[u8], is_last: bool) -> Result<Option<usize>, StoreError> {
        let batch = self.end.batch + 1;
        let number = Frame::read_near(rest, batch).map_or(batch, |frame| frame.batch);
        let whole = whole_frames(rest, number);
        let broken: usize = whole.iter().map(Frame::len).sum();
        if rest.is_empty() || is_last && !frame::holds_later(&rest[broken..], number) {
            return Ok(None);
        }
        let found = frame::find(&rest[broken..], number);
        let length = found.map_or(rest.len(), |(found, _)| broken + found);
        // The rest of the batch, if there is one, comes next.
        self.end.batch = number - 1;
        for frame in &whole {
            let at = self.end.at;
            self.end.at += frame.len() as u64;
            self.show_frame(at, frame)?;
        }
        let at = self.end.at;
        self.end.at += (length - broken) as u64;
        self.log.note_lost(at..self.end.at);
        (self.visit)(&LogEntry::Broken(at, &rest[broken..length]), self.end)?;
        Ok(Some(length))
    }
}

/// A whole batch.
struct Batch<'b> {
    number: u64,
    frames: Vec<Frame<'b>>,
    length: usize,
}

impl<'b> Batch<'b> {
    /// The batch at the beginning of `bytes`, if all of it is there and no batch with a lower number was expected: batches
    /// before it may be lost.
    fn read(bytes: &'b [u8], lowest: u64) -> Option<Self> {
        let number = Frame::read_near(bytes, lowest)?.batch;
        let frames = whole_frames(bytes, number);
        let is_whole = frames.last().is_some_and(|frame| frame.is_last);
        is_whole.then(|| Self {
            number,
            length: frames.iter().map(Frame::len).sum(),
            frames,
        })
    }
}

/// The whole frames of a batch at the beginning of `bytes`, up to its last one.
fn whole_frames(bytes: &[u8], batch: u64) -> Vec<Frame<'_>> {
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

/// Reads all from `start` to the file's end. Returns whether the file is that long.
fn read_rest(file: &LogFile, start: u64, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let Some(length) = file.length()?.checked_sub(start) else {
        return Ok(false);
    };
    bytes.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
    file.read_exact_at(bytes, start)?;
    Ok(true)
}
