//! The appends of a task, to be written anew.

use super::{log::LogOffset, tip::Tip};

/// The appends of a task, oldest first.
#[derive(Debug)]
pub(super) struct Copies {
    /// The newest append; if the task has a newer one, the copies are of no use.
    pub(super) tip: Tip,
    /// Their bytes in the log; empty if the task is damaged.
    pub(super) records: Vec<Vec<u8>>,
    /// The last copy before these.
    pub(super) previous: Option<LogOffset>,
    /// The bytes that all copies of the task have.
    pub(super) bytes: u64,
    /// Whether these are the last of the task.
    pub(super) is_last: bool,
}
