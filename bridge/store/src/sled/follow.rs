//! Brings an index up to the log: at a start from the newest part on, or from the beginning when the index is lost.
//!
//! One thread reads the log and its records, another changes the index.

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
    draft::Draft,
    index_folder::{FOLDERS, open_index, remove},
    log::{self, End, FRAME, Log, LogEntry, LogOffset},
    logged::{Logged, tip_of},
    reader::Reader,
};
use crate::StoreError;

/// The number of records that go to the index together, and the number of such groups that wait.
const TOGETHER: usize = 4096;
const WAITING: usize = 2;

/// Brings the index up to the log. Returns the end of the log.
pub(super) fn follow(reader: &Reader) -> Result<End, StoreError> {
    let from = reader.index().end();
    thread::scope(|scope| {
        let (sender, heaps) = sync_channel(WAITING);
        let read = scope.spawn(move || read(&reader.log, from, &sender));
        for (said, end) in heaps {
            let mut draft = Draft::new(reader);
            for one in said {
                draft.replay(one)?;
            }
            reader.index().apply(draft.changes, end)?;
        }
        read.join().unwrap_or(Err(StoreError::Closed))
    })
}

/// Reads the log, and sends the content of its records in whole batches.
fn read(log: &Log, from: End, to: &SyncSender<(Vec<Logged>, End)>) -> Result<End, StoreError> {
    let (mut said, mut upto) = (Vec::new(), from);
    let send = |said, upto| to.send((said, upto)).map_err(|_| StoreError::Closed);
    let end = log::walk(log, from, &mut |seen, end| {
        if end != upto && said.len() >= TOGETHER {
            send(std::mem::take(&mut said), upto)?;
        }
        upto = end;
        match *seen {
            LogEntry::Record(offset, record) => said.extend(understood(offset, record)),
            LogEntry::Broken(at, bytes) => said.extend(lost(at, bytes)),
        }
        Ok(())
    })?;
    send(said, upto)?;
    Ok(end)
}

fn understood(offset: LogOffset, record: &[u8]) -> Option<Logged> {
    // The record is whole but cannot be read: it is lost for its task, and for no other.
    said(offset, record).map(Some).unwrap_or_else(|error| {
        tracing::error!("a record of the log is passed over: {error}");
        lost_one(offset, record)
    })
}

fn said(offset: LogOffset, record: &[u8]) -> Result<Logged, StoreError> {
    Ok(match Record::read(record)? {
        Record::Append(append) => {
            let (tip, messages) = tip_of(offset, &append, 0)?;
            let is_first = append.previous.is_none();
            Logged::Append {
                tip,
                is_first,
                messages,
            }
        }
        Record::Copy {
            append,
            bytes,
            is_last,
        } => {
            let (tip, messages) = tip_of(offset, &append, bytes)?;
            Logged::Copy {
                tip,
                is_last,
                messages,
            }
        }
        Record::Deleted { task } => Logged::Deleted(task.to_owned()),
        Record::Small { key, value } => Logged::Small(key.into(), value.map(|_| offset)),
    })
}

/// The appends in a broken stretch of the log from this position on, as far as their tasks are known: the append before
/// must not pass for the task's newest.
pub(super) fn lost(mut at: u64, mut stretch: &[u8]) -> Vec<Logged> {
    let mut lost = Vec::new();
    while let Some(length) = stretch
        .first_chunk()
        .map(|length| u32::from_be_bytes(*length))
    {
        let record = stretch.get(FRAME..).unwrap_or_default();
        lost.extend(lost_one(LogOffset { at, length }, record));
        // The next one can only be found by the length of this one.
        let Some(behind) = stretch.get(FRAME + length as usize..) else {
            break;
        };
        at += FRAME as u64 + u64::from(length);
        stretch = behind;
    }
    lost
}

fn lost_one(offset: LogOffset, record: &[u8]) -> Option<Logged> {
    let (task, head) = codec::guess(record)?;
    Some(Logged::Lost(offset, task, head.map(Arc::new)))
}

/// Opens indexes.
#[derive(Clone, Debug)]
pub(super) struct Rebuilder(pub(super) SledSettings);

impl Rebuilder {
    /// Makes another index from the log, in a thread of its own. Readers use the old one meanwhile, as far as it works.
    pub(super) fn start(
        &self,
        reader: &Reader,
    ) -> Result<JoinHandle<Result<(), StoreError>>, StoreError> {
        let (rebuilder, reader) = (self.clone(), reader.clone());
        let builder = thread::Builder::new().name("store-rebuilder".into());
        let started = builder.spawn(move || rebuilder.rebuild(&reader));
        started.map_err(|error| StoreError::io("making the index anew", error))
    }

    /// sled may still write to the folder of the failed one.
    fn rebuild(&self, reader: &Reader) -> Result<(), StoreError> {
        let former = reader.index().folder().clone();
        let is_other = |name: &&&str| !former.ends_with(Path::new(name));
        let name = FOLDERS.iter().find(is_other).unwrap_or(&FOLDERS[0]);
        let folder = self.0.folder.join(name);
        remove(&folder)?;
        let anew = Reader {
            index: open_index(&folder, &self.0)?,
            ..reader.clone()
        };
        follow(&anew)?;
        reader.index.swap(&anew.index);
        // Its folder is removed when nobody uses it any more.
        drop(anew);
        remove(&former)
    }
}
