//! Opening the log: every record after a position, what is lost of them, and the end, where a crash may have
//! torn a batch.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path, sync::Arc};

use super::{End, Log, LogOffset, Writer, frame, frame::Frame, segment};
use crate::store::StoreError;

/// What stands in the log.
#[derive(Debug)]
pub(in crate::store::sled) enum LogEntry<'b> {
    /// A record and its place.
    Record(LogOffset, &'b [u8]),
    /// Bytes that were a record or several, from this position on, and are not whole.
    Broken(u64, &'b [u8]),
}

/// What is done with each of them, and with the end of its batch as far as it is read.
type Visit<'v> = &'v mut dyn FnMut(&LogEntry<'_>, End) -> Result<(), StoreError>;

/// The log in `folder`, of which all up to `known` was read before. What is missing of it is noted in the log: it costs
/// only those whose records it had.
///
/// Errors: `Io`.
pub(in crate::store::sled) fn open(folder: &Path, known: End) -> Result<Arc<Log>, StoreError> {
    let mut bases = segment::list(folder)?;
    // A segment whose making was cut off holds nothing.
    if let Some(&last) = bases.last()
        && segment::open(folder, last)?.is_none()
    {
        segment::remove(folder, last)?;
        bases.pop();
    }
    let log = Arc::new(Log::new(folder.into(), bases));
    check_lengths(&log, known)?;
    Ok(log)
}

/// Shows everything after `from` to `visit`, and answers with the end of the last whole batch. What is broken or missing
/// before the end is passed over, and noted in the log.
///
/// Errors: `Newer`, `Io`, and those of `visit`.
pub(in crate::store::sled) fn walk(
    log: &Log,
    from: End,
    visit: Visit<'_>,
) -> Result<End, StoreError> {
    let bases = log.bases();
    let mut walk = Walk {
        log,
        end: from,
        visit,
    };
    let first = bases.partition_point(|base| *base <= from.at);
    for (index, base) in bases.iter().enumerate().skip(first.saturating_sub(1)) {
        walk.segment(*base, bases.get(index + 1).copied())?;
    }
    Ok(walk.end)
}

/// Takes note of segments that are missing or too short. Of what was read before, up to `known`, nothing else
/// would tell.
fn check_lengths(log: &Log, known: End) -> Result<(), StoreError> {
    let bases = log.bases();
    let mut end = 0;
    for (index, &base) in bases.iter().enumerate() {
        log.lose(end.min(base)..base);
        let path = segment::path(log.folder(), base);
        let failed = |error| StoreError::io(format!("reading {}", path.display()), error);
        let length = path.metadata().map_err(failed)?.len();
        end = base + length;
        // Behind the end of the newest stand zeros.
        if index + 1 == bases.len() && end >= known.at {
            return Ok(());
        }
    }
    log.lose(end.min(known.at)..known.at);
    Ok(())
}

/// Where the log is written on from `end`, its last whole batch. What was torn behind it is cut off: nobody was told that
/// it is there.
///
/// Errors: `Io`, `Full`.
pub(in crate::store::sled) fn writer(log: &Arc<Log>, end: End) -> Result<Writer, StoreError> {
    let folder = log.folder();
    let new = |base, file: File, end| {
        let file = Arc::new(file);
        log.add(base, &file);
        Writer::new(Arc::clone(log), file, base, end)
    };
    if let Some(&base) = log.bases().last() {
        let path = segment::path(folder, base);
        let failed = |error| StoreError::io(format!("opening {}", path.display()), error);
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(failed)?;
        if base + file.metadata().map_err(failed)?.len() >= end.at {
            // What stands behind the end must not be taken for what will be written there.
            file.set_len(end.at - base).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            return Ok(new(base, file, end));
        }
    }
    // No position is given twice: what was lost at the end is left out.
    let (base, file) = (end.at, segment::create(folder, end.at)?);
    let at = base + segment::HEADER;
    Ok(new(base, file, End { at, ..end }))
}

/// On the way through the segments.
struct Walk<'w, 'v> {
    log: &'w Log,
    /// Behind the last that was shown.
    end: End,
    visit: Visit<'v>,
}

impl Walk<'_, '_> {
    /// Goes through one segment, which begins at `base`; `next` is where the one behind it begins.
    fn segment(&mut self, base: u64, next: Option<u64>) -> Result<(), StoreError> {
        let Some(file) = segment::open(self.log.folder(), base)? else {
            self.log.lose(base..next.unwrap_or(base));
            return Ok(());
        };
        self.end.at = self.end.at.max(base + segment::HEADER);
        let start = self.end.at - base;
        let failed = |error| StoreError::io(format!("reading {}", self.log.name(base, 0)), error);
        // It may be shorter than it was when it was read before.
        let Some(bytes) = rest(&file, start).map_err(failed)? else {
            return Ok(());
        };
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

    /// Shows what is whole of a batch that is not, and what is broken in it, up to the next whole record; tells how
    /// many bytes it passed. `None` at the end: what is broken there was torn before it was acknowledged.
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
        self.log.lose(at..self.end.at);
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
    /// The batch at the beginning of `bytes`, if all of it is there and none with a lower number was expected: those
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

/// All from `start` to the file's end; `None` if it ends before.
fn rest(file: &File, start: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = file.metadata()?.len().checked_sub(start) else {
        return Ok(None);
    };
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, start)?;
    Ok(Some(bytes))
}
