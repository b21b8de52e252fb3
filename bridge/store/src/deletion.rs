//! The rules of deletion, idle tasks, and the counts of tasks and of disk space.

use super::{Head, Result, StoreError};

/// The tasks that [`Store::delete`](super::Store::delete) may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Only ended tasks, see [`Head::is_open`]. An open one is refused, since an agent may still work on it.
    Ended,
    /// All tasks, including open and damaged ones. This is for operators.
    Forced,
}

/// The kinds of tasks on which no agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Idle {
    /// Tasks that wait for their callers, see [`Head::waits`].
    Waiting,
    /// Ended tasks, see [`Head::is_open`].
    Ended,
}

impl Idle {
    /// Returns whether a task is of this kind.
    pub fn has(self, head: &Head) -> bool {
        match self {
            Self::Waiting => head.waits(),
            Self::Ended => !head.is_open(),
        }
    }
}

/// The counts of an agent's tasks. A task in a terminal state whose last turn has not ended is in neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// The number of tasks that are not in a terminal state.
    pub open: usize,
    /// The ended tasks.
    pub ended: EndedTasks,
}

/// The number and size of an agent's ended tasks, see [`Head::is_open`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedTasks {
    /// The number of tasks.
    pub tasks: usize,
    /// The approximate size of their events in the store, in bytes.
    pub bytes: u64,
}

/// The disk space of a store, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The size of the log, in bytes.
    pub log: u64,
    /// The size of the index, in bytes.
    pub index: u64,
    /// The size that the log would have without deleted and replaced records, in bytes.
    pub live: u64,
    /// The free space of the disk in bytes, if it is known.
    pub free: Option<u64>,
}

impl Deletion {
    /// Checks that a task may be deleted. Every backend calls this before it deletes a task that it can read.
    ///
    /// # Errors
    /// `Open`.
    pub fn check(self, head: &Head) -> Result<()> {
        match self {
            Self::Ended if head.is_open() => Err(StoreError::Open { task: head.task.to_string() }),
            Self::Ended | Self::Forced => Ok(()),
        }
    }
}
