//! Deleting tasks: which may be deleted, and what is known of those that have ended.

use super::{Head, StoreError};

/// Which tasks [`Store::delete`](super::Store::delete) may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// A task that has ended, see [`Head::is_open`]. An open one is refused, so that no agent works for nobody.
    Ended,
    /// Any task, also one that is open or damaged. This is for operators.
    Forced,
}

/// The tasks of an agent that have ended, see [`Head::is_open`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedTasks {
    /// The number of tasks.
    pub tasks: usize,
    /// The approximate size of their events in the store, in bytes.
    pub bytes: u64,
}

/// What a store takes on the disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The log.
    pub log: u64,
    /// The index.
    pub index: u64,
    /// What would be left of the log if all that was deleted or replaced was removed.
    pub live: u64,
    /// The free space of the disk, if the system tells.
    pub free: Option<u64>,
}

impl Deletion {
    /// Refuses a task that may not be deleted in this way. Every backend calls this before it deletes a task that it can
    /// read.
    ///
    /// # Errors
    /// `Open`.
    pub fn check(self, head: &Head) -> Result<(), StoreError> {
        match self {
            Self::Ended if head.is_open() => Err(StoreError::Open {
                task: head.task.clone(),
            }),
            Self::Ended | Self::Forced => Ok(()),
        }
    }
}
