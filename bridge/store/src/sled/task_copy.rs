//! A copy of a task's appends, which compaction writes at the end of the log.

use super::{latest_append::LatestAppend, log::LogOffset};

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
