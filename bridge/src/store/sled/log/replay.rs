//! Opening the log: every record after a position, and the end, where a crash may have torn a batch.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path, sync::Arc};

use super::{End, Log, Place, Writer, frame, frame::Frame, segment};
use crate::store::StoreError;

/// What is done with each record: its place, its bytes, and the end of its batch as far as it is read.
type Visit<'v> = &'v mut dyn FnMut(&Arc<Log>, Place, &[u8], End) -> Result<(), StoreError>;

/// Opens the log in `folder`, makes it if need be, and shows every record after `from` to `visit`.
///
/// What was torn at the end is cut off: nobody was told that it is there. All that is shown is durable.
///
/// Errors: `Corrupt` if something is broken before the end, `Newer`, `Io`, and those of `visit`.
pub(in crate::store::sled) fn replay(
    folder: &Path,
    from: End,
    visit: Visit<'_>,
) -> Result<(Arc<Log>, Writer), StoreError> {
    let mut bases = segment::list(folder)?;
    // A segment whose making was cut off holds nothing.
    if let Some(&last) = bases.last()
        && segment::open(folder, last)?.is_none()
    {
        segment::remove(folder, last)?;
        bases.pop();
    }
    if bases.is_empty() && from == End::default() {
        segment::create(folder, 0)?;
        bases.push(0);
    }
    let log = Arc::new(Log::new(folder.into(), bases.clone()));
    let mut walk = Walk {
        log: &log,
        end: from,
        visit,
    };
    let first = bases.partition_point(|base| *base <= from.at);
    let (Some(first), Some(&base)) = (first.checked_sub(1), bases.last()) else {
        let what = format!("the log in {}", folder.display());
        let reason = format!("its segment with position {} is missing", from.at);
        return Err(StoreError::corrupt(what, &reason));
    };
    for (index, base) in bases.iter().enumerate().skip(first) {
        walk.segment(*base, bases.get(index + 1).copied())?;
    }
    let end = walk.end;
    let file = cut(folder, base, end.at)?;
    log.add(base, &file);
    let writer = Writer::new(Arc::clone(&log), file, base, end);
    Ok((log, writer))
}

/// Removes what stands behind the end, so that it cannot be taken for what will be written there.
fn cut(folder: &Path, base: u64, end: u64) -> Result<Arc<File>, StoreError> {
    let path = segment::path(folder, base);
    let failed = |error| StoreError::io(format!("opening {}", path.display()), error);
    let file = File::options().read(true).write(true).open(&path);
    let file = file.map_err(failed)?;
    file.set_len(end - base).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    Ok(Arc::new(file))
}

/// On the way through the segments.
struct Walk<'w, 'v> {
    log: &'w Arc<Log>,
    /// Behind the last whole batch.
    end: End,
    visit: Visit<'v>,
}

impl Walk<'_, '_> {
    /// Goes through one segment, which begins at `base`; `next` is where the one behind it begins.
    fn segment(&mut self, base: u64, next: Option<u64>) -> Result<(), StoreError> {
        let corrupt =
            |at: u64, reason: &str| Err(StoreError::corrupt(self.log.name(base, at), reason));
        let Some(file) = segment::open(self.log.folder(), base)? else {
            return corrupt(0, "expected the header of a log's segment");
        };
        self.end.at = self.end.at.max(base + segment::HEADER);
        let start = self.end.at - base;
        let failed = |error| StoreError::io(format!("reading {}", self.log.name(base, 0)), error);
        let Some(bytes) = rest(&file, start).map_err(failed)? else {
            return corrupt(start, "the file was longer when it was read before");
        };
        let mut rest = bytes.as_slice();
        while let Some(batch) = Batch::read(rest, self.end.batch + 1) {
            rest = &rest[batch.length..];
            self.show(&batch)?;
        }
        // What is broken at the very end was torn before it was acknowledged.
        let broken = broken(rest, self.end.batch + 1);
        let is_torn = match next {
            Some(next) => next == self.end.at,
            None => !frame::holds_later(&rest[broken..], self.end.batch + 1),
        };
        match is_torn {
            true => Ok(()),
            false => corrupt(
                self.end.at - base + broken as u64,
                "a record is broken, and later ones stand behind it: restore the file from a copy",
            ),
        }
    }

    fn show(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let mut at = self.end.at;
        self.end.at += batch.length as u64;
        self.end.batch += 1;
        for frame in &batch.frames {
            let length = frame.record.len() as u32;
            (self.visit)(self.log, Place { at, length }, frame.record, self.end)?;
            at += frame.len() as u64;
        }
        Ok(())
    }
}

/// A whole batch.
struct Batch<'b> {
    frames: Vec<Frame<'b>>,
    length: usize,
}

impl<'b> Batch<'b> {
    /// The batch of this number at the beginning of `bytes`, if all of it is there.
    fn read(bytes: &'b [u8], number: u64) -> Option<Self> {
        let (mut frames, mut length) = (Vec::new(), 0);
        while let Some(frame) = frame_of(&bytes[length..], number) {
            length += frame.len();
            frames.push(frame);
            if frame.is_last {
                return Some(Self { frames, length });
            }
        }
        None
    }
}

fn frame_of(bytes: &[u8], batch: u64) -> Option<Frame<'_>> {
    Frame::read(bytes).filter(|frame| frame.batch == batch)
}

/// Where the batch of this number, which is not whole, is broken.
fn broken(bytes: &[u8], batch: u64) -> usize {
    let mut at = 0;
    while let Some(frame) = frame_of(&bytes[at..], batch) {
        at += frame.len();
    }
    at
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
