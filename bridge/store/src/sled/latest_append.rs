//! The latest append of a task, and the copies of appends that compaction writes at the end of the log.

use std::sync::Arc;

use super::log::LogOffset;
use crate::Head;

/// The latest append of a task, with the state of the task.
#[derive(Clone, Debug)]
pub(super) struct LatestAppend {
    /// The head after the append.
    pub(super) head: Arc<Head>,
    pub(super) offset: LogOffset,
    /// The number of the task's appends; 0 if it is unknown.
    pub(super) number: u32,
    /// The size of all appends of the task in the log, with their frames.
    pub(super) bytes: u64,
    /// The state of the task's data.
    pub(super) state: DataState,
}

/// The state of a task's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataState {
    /// The latest append can be read.
    Intact,
    /// A later append is lost. The head is the last known one.
    Damaged,
    /// The task was deleted. The head is its last one.
    Deleted,
}

impl LatestAppend {
    /// Returns the append unless the task was deleted.
    pub(super) fn unless_deleted(self) -> Option<Self> {
        Some(self).filter(|latest| latest.state != DataState::Deleted)
    }
}

/// Appends of a task that are copied, oldest first.
#[derive(Debug)]
pub(super) struct TaskCopy {
    /// The task's latest append. If the task has a later one, the copy is invalid.
    pub(super) latest: LatestAppend,
    /// The records of the appends; empty if the task is damaged.
    pub(super) records: Vec<Vec<u8>>,
    /// The offset of the last copy before these.
    pub(super) previous: Option<LogOffset>,
    /// The size of all copies of the task in the log.
    pub(super) bytes: u64,
    /// Whether these are the last copies of the task.
    pub(super) is_last: bool,
}
