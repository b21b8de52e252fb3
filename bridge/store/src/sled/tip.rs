//! How a task stands in the log.

use std::sync::Arc;

use super::log::LogOffset;
use crate::Head;

/// A task's newest append.
#[derive(Clone, Debug)]
pub(super) struct Tip {
    /// The head after it.
    pub(super) head: Arc<Head>,
    /// Its place in the log.
    pub(super) offset: LogOffset,
    /// The number of the task's appends.
    pub(super) number: u32,
    /// The bytes of all these appends in the log, with their frames.
    pub(super) bytes: u64,
    /// Whether the task is there.
    pub(super) state: TipState,
}

/// Whether a task is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TipState {
    /// The task is there, and this is its newest append.
    Intact,
    /// A later append is lost, perhaps the task's newest: the head is only the last that is known.
    Broken,
    /// The task was deleted: the head is its last one.
    Deleted,
}

impl Tip {
    /// This tip, unless the task was deleted.
    pub(super) fn unless_deleted(self) -> Option<Self> {
        Some(self).filter(|tip| tip.state != TipState::Deleted)
    }
}
