//! Copies a whole store to another store, or to a file and back, and checks each event of the copy.
//!
//! - `source`: reads the content of a store
//! - `target`: writes a copy into a store
//! - `file`: reads and writes a copy as a file

mod file;
mod source;
mod target;

use std::{fmt, io, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use self::{
    file::{FileSource, FileTarget},
    source::StoreSource,
    target::{StoreTarget, unfinished_source},
};
use tokio::time::{Duration, Instant, sleep};

use super::{Append, ExportStore, RecordEntry, StoreError};
use crate::caller::Caller;

/// An item of a store's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A small record. All records come before the tasks, so that all events that a record refers to are in the copy.
    Record(RecordEntry),
    /// The next events of a task, with the owner. The appends of one task come together and in order.
    Append(Caller, Append),
    /// A task that cannot be read, with the reason.
    Damaged(String, String),
}

/// The counts of a copy's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferReport {
    /// The number of tasks.
    pub tasks: usize,
    /// The number of events.
    pub events: u64,
    /// The number of small records.
    pub records: usize,
    /// The tasks that could not be read and are not in the copy, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<(String, String)>,
    /// The number of records that could not be read and are not in the copy.
    #[serde(default)]
    pub damaged_records: usize,
}

impl TransferReport {
    /// Returns whether the copy has the whole content of the store.
    pub fn is_complete(&self) -> bool {
        self.damaged.is_empty() && self.damaged_records == 0
    }
}

impl fmt::Display for TransferReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (task, reason) in &self.damaged {
            writeln!(f, "left out: task {task}: {reason}")?;
        }
        if self.damaged_records > 0 {
            writeln!(f, "left out: {} small records", self.damaged_records)?;
        }
        let Self { tasks, events, records, .. } = self;
        write!(f, "{tasks} tasks with {events} events, {records} small records")
    }
}

/// The reason for which a copy was not made or not finished.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TransferError {
    /// A store failed.
    #[error("{place}: {error}")]
    Store { place: String, error: StoreError },
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// The file is not a copy of a store, or is damaged.
    #[error("{}: line {line}: {reason}", path.display())]
    Content {
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The reason for which it is refused.
        reason: String,
    },
    /// Other processes have the store open.
    #[error("{place} is in use (bridges: {others}): stop them first")]
    InUse { place: String, others: usize },
    /// The target store has other content.
    #[error("{place} is not empty: expected a new store{}", unfinished(found))]
    NotEmpty { place: String, found: Option<String> },
    /// The copy differs from the original.
    #[error("{place}: {what} differs from the original")]
    Different { place: String, what: String },
}

/// The time limit of the wait for other processes. It is longer than the time for which a process without a heartbeat
/// counts as alive.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until no other process has the store open.
async fn wait_for_others(store: &dyn ExportStore, place: &str) -> Result<(), TransferError> {
    let deadline = Instant::now() + OTHERS_TIMEOUT;
    loop {
        let others = store
            .other_processes()
            .await
            .map_err(|error| TransferError::Store { place: place.to_owned(), error })?;
        if others == 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let place = place.to_owned();
            return Err(TransferError::InUse { place, others });
        }
        sleep(Duration::from_millis(100)).await;
    }
}

fn unfinished(found: &Option<String>) -> String {
    match found {
        Some(source) => format!(", found an unfinished copy of {source}"),
        None => String::new(),
    }
}

/// Copies the whole content of a source. `progress` is called after each item.
///
/// # Errors
/// The errors of the source and the target. A failed copy to a store can be repeated, and continues.
pub async fn transfer(
    source: &mut Source,
    target: &mut Target,
    progress: &mut (dyn FnMut(&TransferReport) + Send),
) -> Result<TransferReport, TransferError> {
    let (report, last) = (TransferReport::default(), String::new());
    let mut copy = Transfer { target, progress, report, last };
    match source {
        Source::Store(source) => source.copy_to(&mut copy).await?,
        Source::File(source) => {
            while let Some(item) = source.next()? {
                copy.put(item).await?;
            }
        }
    }
    let Transfer { target, report, .. } = copy;
    match target {
        Target::Store(target) => target.finish(&report).await?,
        Target::File(target) => target.finish(&report)?,
    }
    Ok(report)
}

/// A copy that is being made.
struct Transfer<'t> {
    target: &'t mut Target,
    progress: &'t mut (dyn FnMut(&TransferReport) + Send),
    report: TransferReport,
    /// The task of the last append.
    last: String,
}

impl Transfer<'_> {
    async fn put(&mut self, item: Item) -> Result<(), TransferError> {
        let report = &mut self.report;
        match &item {
            Item::Record(_) => report.records += 1,
            Item::Append(_, append) => {
                if *append.task != *self.last {
                    report.tasks += 1;
                    self.last = append.task.to_string();
                }
                report.events += append.events.len() as u64;
            }
            Item::Damaged(task, reason) => report.damaged.push((task.clone(), reason.clone())),
        }
        match &mut *self.target {
            Target::Store(target) => target.put(item).await?,
            Target::File(target) => target.put(item)?,
        }
        (self.progress)(&self.report);
        Ok(())
    }
}

/// The source of a copy.
#[derive(Debug)]
pub enum Source {
    /// A store.
    Store(StoreSource),
    /// A file.
    File(FileSource),
}

/// The target of a copy.
#[derive(Debug)]
pub enum Target {
    /// A store.
    Store(StoreTarget),
    /// A file.
    File(FileTarget),
}
