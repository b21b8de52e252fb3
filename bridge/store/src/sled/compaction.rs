//! Frees disk space while the store is in use: the oldest segment of the log is emptied and removed.
//!
//! Live tasks and small records with data in the segment are written again at the end of the log. All appends of a task are
//! written, since each refers to the previous one. When the index on the disk has the new offsets, nothing refers to the
//! segment any more. It is then removed, together with the parts of the index that end before the new beginning of the
//! log. After a crash, finished copies are used, and all other data are still at their old offsets.
//!
//! Segments are removed in order, so that the record of a deletion is removed only after the appends that it deleted.

use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    path::Path,
    sync::Arc,
    time::Duration,
};

use bridge_program::system;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::{sync::Mutex, time::Instant};

use super::{
    cached_reader::{CachedReader, LARGE},
    catch_up::lost_appends,
    codec::{self, LoggedAppend, Record},
    committer::Committer,
    draft::ReplayedRecord,
    keys::{self, Key},
    latest_append::{DataState, TaskCopy},
    log::{LogEntry, LogOffset},
    reader::{Reader, STRIDE},
};
use crate::{DiskUse, Result, StoreError};

/// The approximate number of bytes of a segment that one step reads.
const STEP_BYTES: usize = if cfg!(test) { 4 << 10 } else { 1 << 20 };
/// The size from which copies of a task are written as one job.
const JOB_BYTES: usize = STEP_BYTES;
/// The largest size of the log: a multiple of the live bytes, and a number of segments more.
const MAX_LIVE_FACTOR: u64 = 2;
const EXTRA_SEGMENTS: u64 = 2;
/// The number of emptied segments from which the index is written earlier than usual.
const MAX_EMPTIED: usize = 4;
/// The number of attempts of one step to copy a task that changes meanwhile, if its appends are written as one job.
const MAX_ATTEMPTS: usize = 5;
/// The time after the last step of a compaction with [`CompactionGoal::All`] from which the next step begins another one. A step
/// does not know that the one before was the last, because the command of the operator was interrupted.
const INTERRUPTED: Duration = Duration::from_secs(10 * 60);
/// The number of tasks and records that are copied concurrently. Tests need a deterministic order.
const CONCURRENT_COPIES: usize = if cfg!(test) { 1 } else { 64 };

#[derive(Debug, Default)]
pub(super) struct Compaction(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// The next position to read. All live data before it have been copied.
    next: u64,
    /// The emptied segments: the end of each, and the position up to which the index must be durable before the segment can
    /// be removed.
    emptied: VecDeque<(u64, u64)>,
    /// The end of the log when a compaction with [`CompactionGoal::All`] began. Later records are not copied: they may be
    /// copies, so that the compaction would never end.
    all_before: Option<u64>,
    /// The time of the last step of that compaction.
    last_step: Option<Instant>,
}

/// A task or a small record with data in the segment.
#[derive(Debug)]
enum LiveItem {
    /// A task, with the size of its appends.
    Task(Arc<str>, u64),
    Record(Key, LogOffset),
}

impl Compaction {
    /// Does one step. Returns whether there is more to do now.
    ///
    /// # Errors
    /// The errors of reading and writing. The step can be repeated then.
    pub(super) async fn step(
        &self,
        reader: &CachedReader,
        committer: &Committer,
        goal: CompactionGoal,
    ) -> Result<bool> {
        let mut progress = self.0.lock().await;
        if reader.disk.index().has_failed() {
            return Ok(false);
        }
        // They are removed again if this fails or is dropped.
        let emptied = progress.emptied.clone();
        progress.emptied =
            reader.blocking(move |reader| remove_emptied(&reader.disk, emptied)).await?;
        let before = match goal {
            CompactionGoal::Bounded => u64::MAX,
            CompactionGoal::All => {
                let last = progress.last_step.replace(Instant::now());
                if last.is_none_or(|last| last.elapsed() > INTERRUPTED) {
                    progress.all_before = None;
                }
                *progress.all_before.get_or_insert_with(|| reader.disk.index().end().at)
            }
        };
        let next = progress.next;
        let wanted = reader.blocking(move |reader| next_segment(&reader.disk, next, goal, before));
        let Some((start, end)) = wanted.await? else {
            let is_done = progress.emptied.is_empty();
            if !is_done {
                reader.disk.index().write_soon();
            } else if goal == CompactionGoal::All {
                progress.all_before = None;
            }
            return Ok(!is_done);
        };
        let (found, next) =
            reader.blocking(move |reader| read_items(&reader.disk, start, end)).await?;
        // A whole task is in memory while it is copied.
        let large = Mutex::new(());
        let writes = stream::iter(found).map(async |found| {
            let _alone = match found {
                LiveItem::Task(_, LARGE..) => Some(large.lock().await),
                LiveItem::Task(..) | LiveItem::Record(..) => None,
            };
            copy_item(reader, committer, found, end).await
        });
        let outcomes: Vec<bool> = writes.buffer_unordered(CONCURRENT_COPIES).try_collect().await?;
        if outcomes.contains(&false) {
            return Ok(true);
        }
        progress.next = next;
        if next >= end {
            let written = reader.disk.index().end().at;
            progress.emptied.push_back((end, written));
            if progress.emptied.len() >= MAX_EMPTIED {
                reader.disk.index().write_soon();
            }
        }
        Ok(true)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactionGoal {
    /// The size of the log stays within a limit.
    Bounded,
    /// As many deleted and replaced bytes as possible are removed.
    All,
}

/// Removes the emptied segments to which the durable index does not refer. Returns the others.
fn remove_emptied(
    reader: &Reader,
    mut emptied: VecDeque<(u64, u64)>,
) -> Result<VecDeque<(u64, u64)>> {
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

/// Returns the position from which to read and the end of the segment. Returns `None` if nothing needs to be done before
/// `before`.
fn next_segment(
    reader: &Reader,
    next: u64,
    wanted: CompactionGoal,
    before: u64,
) -> Result<Option<(u64, u64)>> {
    let Some((begin, end)) = reader.log.closed_segment(next) else {
        return Ok(None);
    };
    let start = begin.max(next);
    let used = reader.index().end().at.saturating_sub(start);
    let live = reader.live_bytes()?;
    let segment = reader.log.segment_limit();
    let most = match wanted {
        CompactionGoal::Bounded => MAX_LIVE_FACTOR * live + EXTRA_SEGMENTS * segment,
        CompactionGoal::All => live + live / 16 + segment / 16,
    };
    let is_due = start < before && used > most;
    // A segment that was read in part is read to its end.
    Ok((next > begin || is_due).then_some((start, end)))
}

/// Reads the next records of a segment. Returns the tasks and small records that they belong to, and the position after
/// the records.
fn read_items(reader: &Reader, start: u64, end: u64) -> Result<(Vec<LiveItem>, u64)> {
    let (mut tasks, mut found) = (BTreeSet::new(), Vec::new());
    let mut visit = |entry: &LogEntry<'_>| match *entry {
        LogEntry::Record(offset, record) => match Record::read(record) {
            Ok(Record::Append(append) | Record::Copy { append, .. }) => {
                tasks.extend(append.head().ok().map(|head| head.task));
            }
            Ok(Record::Small { key, value }) => {
                found.extend(value.map(|_| LiveItem::Record(key.into(), offset)));
            }
            Ok(Record::Deleted { .. }) => {}
            Err(_) => tasks.extend(codec::guess_task(record).map(|(task, _)| task)),
        },
        LogEntry::Damaged(at, bytes) => {
            for lost in lost_appends(at, bytes) {
                if let ReplayedRecord::Lost(_, task, _) = lost {
                    tasks.insert(task);
                }
            }
        }
    };
    let next = reader.log.records(start, end, STEP_BYTES, &mut visit)?;
    for task in tasks {
        if let Some(indexed) = reader.indexed_task(&task)? {
            found.push(LiveItem::Task(task, indexed.bytes));
        }
    }
    Ok((found, next))
}

/// Returns the appends of a task if it exists and one of them is before `end`.
fn live_task(reader: &Reader, task: &str, end: u64) -> Result<Option<TaskCopy>> {
    let Some(latest) = reader.find(task)? else {
        return Ok(None);
    };
    let mut copy =
        TaskCopy { records: Vec::new(), previous: None, bytes: 0, is_last: true, latest };
    if copy.latest.state == DataState::Damaged {
        return Ok((copy.latest.offset.at < end).then_some(copy));
    }
    // The index may also have the offset of a copy from an unfinished attempt.
    let mut is_before = copy.latest.number >= STRIDE && is_numbered_before(reader, task, end)?;
    let mut next = Some(copy.latest.offset);
    while let Some(offset) = next {
        is_before |= offset.at < end;
        let read = reader.log.read(offset).and_then(|record| {
            let append = LoggedAppend::open(&record)?;
            // An append that cannot be parsed counts as damaged.
            append.head().and(append.message_ids())?;
            let previous = append.previous;
            Ok((record, previous))
        });
        match read {
            Ok((record, previous)) => {
                next = previous;
                copy.bytes += codec::copy_size(&record);
                copy.records.push(record);
            }
            // A damaged task is replaced by a record of its existence.
            Err(StoreError::Corrupt { .. }) => {
                copy.records.clear();
                copy.latest.state = DataState::Damaged;
                return Ok(Some(copy));
            }
            Err(error) => return Err(error),
        }
    }
    copy.records.reverse();
    Ok(is_before.then_some(copy))
}

/// Returns whether an offset of the task's appends in the index is before `end`.
fn is_numbered_before(reader: &Reader, task: &str, end: u64) -> Result<bool> {
    for entry in reader.index().scan(keys::appends(task), None) {
        if keys::read::<LogOffset>(&entry?.1)?.at < end {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Copies a task or record that has data before `end`. Returns `false` if the task has changed too often meanwhile.
async fn copy_item(
    reader: &CachedReader,
    committer: &Committer,
    found: LiveItem,
    end: u64,
) -> Result<bool> {
    let (task, bytes) = match found {
        LiveItem::Record(key, offset) => {
            let name = key.clone();
            let read = reader.blocking(move |reader| reader.disk.live_value(&name, offset));
            match readable(reader, read, Result::is_ok).await? {
                Ok(Some(value)) => committer.rewrite_record(key, offset, value).await?,
                Ok(None) | Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
            return Ok(true);
        }
        LiveItem::Task(task, bytes) => (task, bytes),
    };
    // An attempt of several jobs writes much. It is not repeated before the pause after this step.
    let attempts = if bytes > JOB_BYTES as u64 { 1 } else { MAX_ATTEMPTS };
    for _ in 0..attempts {
        let Some(copy) = read_task(reader, &task, end).await? else {
            return Ok(true);
        };
        match copy_task(committer, copy).await {
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::NotFound { .. }) => return Ok(true),
            Err(error) => return Err(error),
            Ok(()) => return Ok(true),
        }
    }
    Ok(false)
}

/// Reads a task as [`live_task`] does.
async fn read_task(reader: &CachedReader, task: &Arc<str>, end: u64) -> Result<Option<TaskCopy>> {
    let task = Arc::clone(task);
    let read = reader.blocking(move |reader| live_task(&reader.disk, &task, end));
    // A task whose newest append cannot be read seems to have nothing in the segment.
    let is_whole = |copy: &Result<Option<TaskCopy>, _>| {
        let copy = copy.as_ref().ok().and_then(Option::as_ref);
        copy.is_some_and(|copy| copy.latest.state == DataState::Intact)
    };
    readable(reader, read, is_whole).await?
}

/// Returns the result of a read, unless it is not whole and the disk could not read something meanwhile: a disk that is reached over a
/// network may fail for a while, and what is not copied would be lost. The step is repeated then.
async fn readable<T>(
    reader: &CachedReader,
    read: impl Future<Output = T>,
    is_whole: impl Fn(&T) -> bool,
) -> Result<T> {
    let log = &reader.disk.log;
    let failures = log.failures();
    let result = read.await;
    match !is_whole(&result) && log.failures() != failures {
        true => Err(StoreError::Io {
            doing:
                "the log has data that the disk cannot read: its old parts are kept until it can"
                    .into(),
            error: io::Error::other("bridge store check lists them"),
        }),
        false => Ok(result),
    }
}

/// Writes copies of a task's appends in several jobs. With the last job, the task consists of the copies.
async fn copy_task(committer: &Committer, copy: TaskCopy) -> Result<()> {
    let (latest, bytes) = (copy.latest, copy.bytes);
    let (mut previous, mut records_of_job, mut size) = (None, Vec::new(), 0);
    let mut records = copy.records.into_iter().peekable();
    loop {
        let record = records.next();
        size += record.as_ref().map_or(0, Vec::len);
        records_of_job.extend(record);
        let is_last = records.peek().is_none();
        if !is_last && size < JOB_BYTES {
            continue;
        }
        let copy = TaskCopy {
            latest: latest.clone(),
            records: std::mem::take(&mut records_of_job),
            previous,
            bytes,
            is_last,
        };
        previous = committer.copy(Arc::new(copy)).await?;
        if is_last {
            return Ok(());
        }
        size = 0;
    }
}

impl Reader {
    /// Returns the disk space of the store.
    pub(super) fn disk_use(&self) -> Result<DiskUse> {
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

    /// Returns the size of all live tasks and small records in the log.
    pub(super) fn live_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for kind in [keys::OPEN_BYTES, keys::ENDED_BYTES, keys::RECORD_BYTES] {
            let counts = self.index().counts(&[kind])?;
            bytes += counts.values().map(|count| *count as u64).sum::<u64>();
        }
        Ok(bytes)
    }

    /// Returns the value of a small record if it is still at this offset.
    ///
    /// Errors: `Corrupt` if the record is damaged.
    fn live_value(&self, key: &[u8], offset: LogOffset) -> Result<Option<Vec<u8>>> {
        let is_there = self.index().get(key)? == Some(keys::write(&offset));
        is_there.then(|| self.value(offset)).transpose()
    }
}

/// Returns the disk space of the files in a folder.
fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_in(&entry.path())?,
            Ok(found) => system::bytes_on_disk(&found),
            // The file was removed meanwhile.
            Err(_) => 0,
        };
    }
    Ok(bytes)
}
