//! Reads single records by their offsets, and some records of a full segment at a time.

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use bridge_program::lock;

use super::{
    LogEntry, LogOffset,
    disk::LogFile,
    frame,
    frame::Frame,
    segment::{HEADER, Segments},
};
use crate::{Result, StoreError};

/// The largest number of open files.
const MAX_OPEN_FILES: usize = 128;

/// The approximate largest size of a record with its frame.
const MAX_RECORD: u64 = 80 << 20;

/// The readable log.
#[derive(Debug)]
pub(in crate::sled) struct Log {
    pub(super) segments: Segments,
    /// All segments by their first positions, with their files if they are open.
    files: Mutex<BTreeMap<u64, Option<LogFile>>>,
    /// The lock that readers of whole segments share, so that no segment is removed meanwhile.
    removing: RwLock<()>,
    /// The known positions that cannot be read.
    lost: Mutex<Vec<Range<u64>>>,
    /// The number of reads that the disk has failed.
    failures: AtomicU64,
}

impl Log {
    /// Creates a reader of the segments that begin at these positions.
    pub(super) fn new(segments: Segments, bases: impl IntoIterator<Item = u64>) -> Self {
        let files = bases.into_iter().map(|base| (base, None)).collect();
        Self {
            segments,
            files: Mutex::new(files),
            removing: RwLock::default(),
            lost: Mutex::default(),
            failures: AtomicU64::default(),
        }
    }

    /// Records positions that cannot be read, and reports them once.
    pub(super) fn record_lost(&self, positions: Range<u64>) {
        let mut lost = lock(&self.lost);
        if positions.is_empty() || lost.contains(&positions) {
            return;
        }
        let Range { start, end } = positions;
        let folder = self.segments.folder.display();
        tracing::error!(
            "the log in {folder} has lost {} bytes from position {start} on: tasks that need them are damaged, all \
             others are served; bridge store check lists them",
            end - start
        );
        lost.push(positions);
    }

    /// Returns the known positions that cannot be read.
    pub(in crate::sled) fn lost(&self) -> Vec<Range<u64>> {
        lock(&self.lost).clone()
    }

    /// Returns the first positions of all segments, in order.
    pub(super) fn bases(&self) -> Vec<u64> {
        lock(&self.files).keys().copied().collect()
    }

    /// Prevents the removal of segments.
    pub(super) fn lock_segments(&self) -> RwLockReadGuard<'_, ()> {
        self.removing.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the range of the segment with this position, or of the next one, if the segment is full.
    pub(in crate::sled) fn closed_segment(&self, at: u64) -> Option<(u64, u64)> {
        let files = lock(&self.files);
        let ends = files.keys().skip(1);
        let mut segments = files.keys().zip(ends);
        let (base, end) = segments.find(|(_, end)| **end > at)?;
        Some((*base, *end))
    }

    /// Returns the position of the first segment.
    pub(in crate::sled) fn begin(&self) -> u64 {
        lock(&self.files).keys().next().copied().unwrap_or_default()
    }

    /// Returns the free space of the disk, if it is known.
    pub(in crate::sled) fn free_space(&self) -> Option<u64> {
        let segments = &self.segments;
        segments.disk.space(&segments.folder).map(|space| space.free)
    }

    /// Returns the size in bytes from which a segment is full.
    pub(in crate::sled) fn segment_limit(&self) -> u64 {
        self.segments.disk.segment_limit()
    }

    /// Removes all segments before the segment that begins at this position.
    pub(in crate::sled) fn remove_before(&self, begin: u64) -> Result<()> {
        let _alone = self.removing.write().unwrap_or_else(PoisonError::into_inner);
        self.segments.set_begin(begin)?;
        lock(&self.files).retain(|base, _| *base >= begin);
        self.segments.remove_before_begin()
    }

    /// Adds a segment with its open file.
    pub(super) fn add(&self, base: u64, file: &LogFile) {
        lock(&self.files).insert(base, Some(Arc::clone(file)));
    }

    /// Reads the record at an offset, and checks its checksum.
    pub(in crate::sled) fn read(&self, offset: LogOffset) -> Result<Vec<u8>> {
        let (base, file) = self.segment(offset.at)?;
        let start = offset.at - base;
        let mut bytes = vec![0; frame::HEADER + offset.length as usize];
        let failed = |error| self.read_error(self.name(base, start), error);
        file.read_exact_at(&mut bytes, start).map_err(failed)?;
        match Frame::read(&bytes) {
            Some(frame) if frame.len() == bytes.len() => {
                bytes.drain(..frame::HEADER);
                Ok(bytes)
            }
            Some(_) | None => Err(StoreError::corrupt(
                self.name(base, start),
                "expected a whole record with its checksum",
            )),
        }
    }

    /// Names a position in a segment, for error messages.
    pub(super) fn name(&self, base: u64, offset: u64) -> String {
        let path = self.segments.path(base);
        format!("{} at byte {offset}", path.display())
    }

    pub(super) fn segment(&self, at: u64) -> Result<(u64, LogFile)> {
        let mut files = lock(&self.files);
        let missing = || StoreError::corrupt("the log", &format!("position {at} is in no segment"));
        let (&base, file) = files.range(..=at).next_back().ok_or_else(missing)?;
        if let Some(file) = file {
            return Ok((base, Arc::clone(file)));
        }
        let opened = self.segments.open(base)?.ok_or_else(missing)?;
        let mut open = files.values_mut().filter(|file| file.is_some());
        if open.by_ref().take(MAX_OPEN_FILES).count() == MAX_OPEN_FILES
            && let Some(oldest) = files.values_mut().find(|file| file.is_some())
        {
            *oldest = None;
        }
        files.insert(base, Some(Arc::clone(&opened)));
        Ok((base, opened))
    }

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

    /// Returns the number of reads of records that the disk has failed. Those may succeed later.
    pub(in crate::sled) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Converts the error of a read. Unreadable bytes count as corrupt, like changed bytes; other errors are temporary.
    fn read_error(&self, position: String, error: io::Error) -> StoreError {
        const EIO: i32 = 5;
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                StoreError::corrupt(position, "the file ends before it")
            }
            _ if error.raw_os_error() == Some(EIO) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                StoreError::corrupt(position, &error)
            }
            _ => StoreError::io(format!("reading {position}"), error),
        }
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
