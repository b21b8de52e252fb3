//! Brings the index up to the end of the log: at a start from its newest part on, or from the beginning if it is rebuilt.
//!
//! One thread reads the log and parses its records, another one changes the index.

use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use super::{
    SledSettings,
    codec::{self, Record},
    draft::{Draft, ReplayedRecord, latest_append},
    index_folder::{FOLDERS, open_index, remove},
    log::{self, End, FRAME, Log, LogEntry, LogOffset},
    reader::Reader,
};
use crate::{Result, StoreError};

/// The number of records that are added to the index together, and the number of such groups that are queued.
const GROUP: usize = 4096;
const MAX_GROUPS: usize = 2;

/// Brings the index up to the end of the log. Returns the end of the log.
pub(super) fn catch_up(reader: &Reader) -> Result<End> {
    let from = reader.index().end();
    thread::scope(|scope| {
        let (sender, groups) = sync_channel(MAX_GROUPS);
        let read = scope.spawn(move || read(&reader.log, from, &sender));
        for (records, end) in groups {
            let mut draft = Draft::new(reader);
            for one in records {
                draft.replay(one)?;
            }
            reader.index().apply(draft.changes, end);
            if reader.index().has_failed() {
                return Err(StoreError::Rebuilding);
            }
        }
        read.join().unwrap_or(Err(StoreError::Closed))
    })
}

/// Reads the log, and sends its records in groups of complete batches.
fn read(log: &Log, from: End, to: &SyncSender<(Vec<ReplayedRecord>, End)>) -> Result<End> {
    let (mut records, mut upto) = (Vec::new(), from);
    let send = |records, upto| to.send((records, upto)).map_err(|_| StoreError::Closed);
    let end = log::walk(log, from, &mut |seen, end| {
        if end != upto && records.len() >= GROUP {
            send(std::mem::take(&mut records), upto)?;
        }
        upto = end;
        match *seen {
            LogEntry::Record(offset, record) => records.extend(parse_or_skip(offset, record)),
            LogEntry::Damaged(at, bytes) => records.extend(lost_appends(at, bytes)),
        }
        Ok(())
    })?;
    send(records, upto)?;
    Ok(end)
}

fn parse_or_skip(offset: LogOffset, record: &[u8]) -> Option<ReplayedRecord> {
    // The checksum of the record is right, but it cannot be parsed: only its task is damaged.
    parse(offset, record).map(Some).unwrap_or_else(|error| {
        tracing::error!("a record of the log is skipped: {error}");
        lost_append(offset, record)
    })
}

fn parse(offset: LogOffset, record: &[u8]) -> Result<ReplayedRecord> {
    Ok(match Record::read(record)? {
        Record::Append(append) => {
            let (latest, messages) = latest_append(offset, &append, 0)?;
            let is_first = append.previous.is_none();
            ReplayedRecord::Append { latest, is_first, messages }
        }
        Record::Copy { append, bytes, is_last } => {
            let (latest, messages) = latest_append(offset, &append, bytes)?;
            ReplayedRecord::Copy { latest, is_last, messages }
        }
        Record::Deleted { task } => ReplayedRecord::Deleted(task.to_owned()),
        Record::Small { key, value } => ReplayedRecord::Small(key.into(), value.map(|_| offset)),
    })
}

/// Returns the lost appends in a damaged range of the log, as far as their tasks can be guessed. They are needed so that
/// the previous append of such a task is not taken for the latest.
pub(super) fn lost_appends(mut at: u64, mut stretch: &[u8]) -> Vec<ReplayedRecord> {
    let mut lost_appends = Vec::new();
    while let Some(length) = stretch.first_chunk().map(|length| u32::from_be_bytes(*length)) {
        let record = stretch.get(FRAME..).unwrap_or_default();
        // The length may be damaged, too. It counts for the size of the task, and the record is read with it.
        let length = length.min(record.len() as u32);
        lost_appends.extend(lost_append(LogOffset { at, length }, record));
        // The next append can only be found by the length of this one.
        let Some(behind) = stretch.get(FRAME + length as usize..) else {
            break;
        };
        at += FRAME as u64 + u64::from(length);
        stretch = behind;
    }
    lost_appends
}

fn lost_append(offset: LogOffset, record: &[u8]) -> Option<ReplayedRecord> {
    let (task, head) = codec::guess_task(record)?;
    Some(ReplayedRecord::Lost(offset, task, head.map(Arc::new)))
}

/// Rebuilds the index.
#[derive(Clone, Debug)]
pub(super) struct Rebuilder(pub(super) SledSettings);

impl Rebuilder {
    /// Rebuilds the index from the log, in a new thread. Readers use the old index meanwhile, as far as it works.
    pub(super) fn start(&self, reader: &Reader) -> Result<JoinHandle<Result<()>>> {
        let (rebuilder, reader) = (self.clone(), reader.clone());
        let builder = thread::Builder::new().name("store-rebuilder".into());
        let started = builder.spawn(move || rebuilder.rebuild(&reader));
        started.map_err(|error| StoreError::io("rebuilding the index", error))
    }

    /// Rebuilds the index in the other folder, since sled may still write to the folder of the failed index.
    fn rebuild(&self, reader: &Reader) -> Result<()> {
        let former = reader.index().folder().clone();
        let is_other = |name: &&&str| !former.ends_with(Path::new(name));
        let name = FOLDERS.iter().find(is_other).unwrap_or(&FOLDERS[0]);
        let folder = self.0.folder.join(name);
        remove(&folder)?;
        let rebuilt = Reader { index: open_index(&folder, &self.0)?, ..reader.clone() };
        catch_up(&rebuilt)?;
        reader.index.swap(&rebuilt.index);
        // The old index is closed before its folder is removed.
        drop(rebuilt);
        remove(&former)
    }
}
