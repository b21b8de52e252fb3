//! Frees disk space while the store serves: the oldest segment of the log is emptied and removed.
//!
//! Tasks and small records that are kept and have something in the segment are written anew at the log's end; a task with
//! all of its appends, since each leads to the one before it. When the index has all of that on the disk, nothing leads to
//! the segment any more. It is then removed, together with the parts of the index that end before the log's new beginning.
//! A crash in between loses only the work: copies that were written are found, and everything else is at its old place.
//!
//! Segments are removed in order, so that a deletion is removed only after all that it deleted.

use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::Arc,
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::Mutex;

use super::{
    cached_reader::CachedReader,
    codec::{self, Appended, Record},
    committer::Committer,
    copies::Copies,
    follow::lost,
    keys::{self, Key},
    log::{LogEntry, LogOffset},
    logged::Logged,
    reader::{Reader, STRIDE},
    tip::TipState,
};
use crate::{DiskUse, StoreError};

/// The approximate number of bytes of a segment that one step reads, and the most that it writes at once.
const STEP: usize = if cfg!(test) { 4 << 10 } else { 1 << 20 };
/// The bytes of a task that are read at once before it is written piece by piece.
const PIECE: usize = STEP;
/// The log may have so many times the bytes of all that is kept, and so many segments more.
const FACTOR: u64 = 2;
const SEGMENTS: u64 = 2;
/// The number of segments that wait to be removed from which the index is written earlier than usual.
const WAITING: usize = 4;
/// How often one step tries again to write a task anew that changes meanwhile.
const TRIES: usize = 5;
/// The number of tasks and records that are written anew at a time.
/// Tests want the same order each time.
const TOGETHER: usize = if cfg!(test) { 1 } else { 64 };

/// The progress of compaction.
#[derive(Debug, Default)]
pub(super) struct Compaction(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// The next position to read; nothing before it is needed once the index is on the disk up to there.
    next: u64,
    /// The segments that were emptied: the end of each, and the position up to which the index must be on the disk before
    /// the segment is removed.
    emptied: VecDeque<(u64, u64)>,
    /// Whether to go on until this segment is empty.
    is_within: bool,
    /// The log's end when [`Wanted::All`] was begun. Later records are left for another time: they may be copies, so that
    /// the work would never end.
    all_before: Option<u64>,
}

/// A task or a small record, which is written anew if it is there.
#[derive(Debug)]
enum Found {
    Task(String),
    Record(Key, LogOffset),
}

impl Compaction {
    /// Does one step. Returns whether another is to be done now.
    ///
    /// # Errors
    /// Returns the errors of reading and writing; the step was not done then, and may be tried again.
    pub(super) async fn step(
        &self,
        reader: &CachedReader,
        committer: &Committer,
        is_wanted: Wanted,
    ) -> Result<bool, StoreError> {
        let mut progress = self.0.lock().await;
        if reader.disk.index().has_failed() {
            return Ok(false);
        }
        let removed = std::mem::take(&mut progress.emptied);
        progress.emptied = reader
            .blocking(move |reader| remove_emptied(&reader.disk, removed))
            .await?;
        let before = match is_wanted {
            Wanted::Bounded => u64::MAX,
            Wanted::All => *progress
                .all_before
                .get_or_insert_with(|| reader.disk.index().end().at),
        };
        let wanted = reader
            .blocking({
                let (next, is_within) = (progress.next, progress.is_within);
                move |reader| next_segment(&reader.disk, next, is_within, is_wanted, before)
            })
            .await?;
        let Some((start, end)) = wanted else {
            let is_done = progress.emptied.is_empty();
            if !is_done {
                reader.disk.index().write_soon();
            } else if is_wanted == Wanted::All {
                progress.all_before = None;
            }
            return Ok(!is_done);
        };
        let (found, next) = reader
            .blocking(move |reader| records(&reader.disk, start, end))
            .await?;
        let writes = stream::iter(found).map(|found| write_one(reader, committer, found, end));
        let outcomes: Vec<bool> = writes.buffer_unordered(TOGETHER).try_collect().await?;
        if outcomes.contains(&false) {
            return Ok(true);
        }
        (progress.next, progress.is_within) = (next, next < end);
        if next >= end {
            let written = reader.disk.index().end().at;
            progress.emptied.push_back((end, written));
            if progress.emptied.len() >= WAITING {
                reader.disk.index().write_soon();
            }
        }
        Ok(true)
    }
}

/// The condition under which a segment is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The log has too many bytes that were deleted or replaced.
    Bounded,
    /// The log has any byte that was deleted or replaced.
    All,
}

/// Removes the emptied segments that the index on the disk does not need any more. Returns the others.
fn remove_emptied(
    reader: &Reader,
    mut emptied: VecDeque<(u64, u64)>,
) -> Result<VecDeque<(u64, u64)>, StoreError> {
    let index = reader.index();
    let (durable, mut begin) = (index.durable_end(), None);
    while let Some(&(end, written)) = emptied.front()
        && written <= durable
    {
        begin = Some(end);
        emptied.pop_front();
    }
    if let Some(begin) = begin {
        reader.log.remove_before(begin)?;
        index.remove_parts(begin);
    }
    index.drop_removed_parts()?;
    Ok(emptied)
}

/// Returns where to go on and where the segment ends. Returns `None` if nothing needs to be done before `before`.
fn next_segment(
    reader: &Reader,
    next: u64,
    is_within: bool,
    wanted: Wanted,
    before: u64,
) -> Result<Option<(u64, u64)>, StoreError> {
    let Some((start, end)) = reader.log.closed_segment(next) else {
        return Ok(None);
    };
    let start = start.max(next);
    let used = reader.index().end().at.saturating_sub(start);
    let live = reader.live_bytes()?;
    let segment = reader.log.segment_limit();
    let most = match wanted {
        Wanted::Bounded => FACTOR * live + SEGMENTS * segment,
        Wanted::All => live + live / 16 + segment / 16,
    };
    let is_due = start < before && used > most;
    Ok((is_within || is_due).then_some((start, end)))
}

/// The owners of the next records of a segment that are still there, and the position behind these records.
fn records(reader: &Reader, start: u64, end: u64) -> Result<(Vec<Found>, u64), StoreError> {
    let (mut tasks, mut found) = (BTreeSet::new(), Vec::new());
    let mut visit = |entry: &LogEntry<'_>| match *entry {
        LogEntry::Record(offset, record) => match Record::read(record) {
            Ok(Record::Append(append) | Record::Copy { append, .. }) => {
                tasks.extend(append.head().ok().map(|head| head.task));
            }
            Ok(Record::Small { key, value }) => {
                found.extend(value.map(|_| Found::Record(key.into(), offset)));
            }
            Ok(Record::Deleted { .. }) => {}
            Err(_) => tasks.extend(codec::guess(record).map(|(task, _)| task)),
        },
        LogEntry::Broken(at, bytes) => {
            for lost in lost(at, bytes) {
                if let Logged::Lost(_, task, _) = lost {
                    tasks.insert(task);
                }
            }
        }
    };
    let next = reader.log.records(start, end, STEP, &mut visit)?;
    for task in tasks {
        if reader.indexed_task(&task)?.is_some() {
            found.push(Found::Task(task));
        }
    }
    Ok((found, next))
}

/// The appends of a task, if it is there and one of them is before `end`.
fn live_task(reader: &Reader, task: &str, end: u64) -> Result<Option<Copies>, StoreError> {
    let Some(tip) = reader.find(task)? else {
        return Ok(None);
    };
    let mut copies = Copies {
        records: Vec::new(),
        previous: None,
        bytes: 0,
        is_last: true,
        tip,
    };
    if copies.tip.state == TipState::Broken {
        return Ok((copies.tip.offset.at < end).then_some(copies));
    }
    // A copy that was not the last may be found by its number, though the task does not consist of it.
    let mut is_before = copies.tip.number >= STRIDE && is_numbered_before(reader, task, end)?;
    let mut next = Some(copies.tip.offset);
    while let Some(offset) = next {
        is_before |= offset.at < end;
        let read = reader.log.read(offset).and_then(|record| {
            let append = Appended::open(&record)?;
            // Appends that cannot be found are not written anew.
            append.head().and(append.message_ids())?;
            let previous = append.previous;
            Ok((record, previous))
        });
        match read {
            Ok((record, previous)) => {
                next = previous;
                copies.bytes += codec::copied_size(&record);
                copies.records.push(record);
            }
            // Of a damaged task only its existence is kept.
            Err(StoreError::Corrupt { .. }) => {
                copies.records.clear();
                copies.tip.state = TipState::Broken;
                return Ok(Some(copies));
            }
            Err(error) => return Err(error),
        }
    }
    copies.records.reverse();
    Ok(is_before.then_some(copies))
}

/// Whether an append of the task that can be found by its number is before `end`.
fn is_numbered_before(reader: &Reader, task: &str, end: u64) -> Result<bool, StoreError> {
    for entry in reader.index().scan(keys::appends(task), None) {
        if keys::read::<LogOffset>(&entry?.1)?.at < end {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes a task or record anew that has something before `end`. Returns false if it has changed too often meanwhile.
async fn write_one(
    reader: &CachedReader,
    committer: &Committer,
    found: Found,
    end: u64,
) -> Result<bool, StoreError> {
    let task = match found {
        Found::Record(key, offset) => {
            let read = reader.blocking(move |reader| reader.disk.live_value(key, offset));
            if let Some((key, value)) = read.await? {
                committer.renew(key, offset, value).await?;
            }
            return Ok(true);
        }
        Found::Task(task) => Arc::<str>::from(task),
    };
    for _ in 0..TRIES {
        let id = Arc::clone(&task);
        let copies = reader.blocking(move |reader| live_task(&reader.disk, &id, end));
        let Some(copies) = copies.await? else {
            return Ok(true);
        };
        match write_task(committer, copies).await {
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::NotFound { .. }) => return Ok(true),
            Err(error) => return Err(error),
            Ok(()) => return Ok(true),
        }
    }
    Ok(false)
}

/// Writes the appends of a task piece by piece; with the last piece the task consists of the copies.
async fn write_task(committer: &Committer, copies: Copies) -> Result<(), StoreError> {
    let (tip, bytes) = (copies.tip, copies.bytes);
    let (mut previous, mut piece, mut size) = (None, Vec::new(), 0);
    let mut records = copies.records.into_iter().peekable();
    loop {
        let record = records.next();
        size += record.as_ref().map_or(0, Vec::len);
        piece.extend(record);
        let is_last = records.peek().is_none();
        if !is_last && size < PIECE {
            continue;
        }
        let copies = Copies {
            tip: tip.clone(),
            records: std::mem::take(&mut piece),
            previous,
            bytes,
            is_last,
        };
        previous = committer.copy(Arc::new(copies)).await?;
        if is_last {
            return Ok(());
        }
        size = 0;
    }
}

impl Reader {
    /// The bytes of the store on the disk.
    pub(super) fn disk_use(&self) -> Result<DiskUse, StoreError> {
        let (index, log) = (self.index(), &self.log);
        let folder = index.folder();
        let failed = |error| StoreError::io(format!("reading {}", folder.display()), error);
        Ok(DiskUse {
            log: index.end().at.saturating_sub(log.begin()),
            index: bytes_in(folder).map_err(failed)?,
            live: self.live_bytes()?,
            free: log.free_space(),
        })
    }

    /// The bytes of all tasks and small records that are there.
    pub(super) fn live_bytes(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for kind in [keys::OPEN_BYTES, keys::ENDED_BYTES, keys::RECORD_BYTES] {
            let counts = self.index().counts(&[kind])?;
            bytes += counts.values().map(|count| *count as u64).sum::<u64>();
        }
        Ok(bytes)
    }

    /// The value of a small record, if it is still at this place.
    fn live_value(
        &self,
        key: Key,
        offset: LogOffset,
    ) -> Result<Option<(Key, Vec<u8>)>, StoreError> {
        if self.index().get(&key)? != Some(keys::write(&offset)) {
            return Ok(None);
        }
        match self.value(offset) {
            Ok(value) => Ok(Some((key, value))),
            // It is lost already.
            Err(StoreError::Corrupt { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The bytes that the files in a folder take on the disk.
fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_in(&entry.path())?,
            Ok(found) => found.blocks() * 512,
            // It was removed meanwhile.
            Err(_) => 0,
        };
    }
    Ok(bytes)
}
