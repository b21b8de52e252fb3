//! Exports the whole content of a store, for checks and copies.

use async_trait::async_trait;

use super::{RecordKey, Result, Store};
use crate::caller::Caller;

/// A store whose whole content can be read.
#[async_trait]
pub trait ExportStore: Store {
    /// Returns the tasks of all callers in an order that the store chooses, at most `limit`. They begin after the position
    /// `after` (empty for the beginning).
    async fn all_tasks(&self, after: &[u8], limit: usize) -> Result<TaskPage>;

    /// Returns the records of all callers, in pages as [`all_tasks`](Self::all_tasks) does.
    async fn all_records(&self, after: &[u8], limit: usize) -> Result<RecordPage>;

    /// Returns the number of other processes that have the store open.
    async fn other_processes(&self) -> Result<usize> {
        Ok(0)
    }
}

/// A page of the tasks of all callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskEntry>,
    /// The position of the last entry; `None` if there are no more.
    pub last: Option<Vec<u8>>,
}

/// A task of any caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEntry {
    /// A task that can be read, with its owner.
    Intact(String, Caller),
    /// A task that cannot be read, with the reason.
    Damaged(String, String),
}

/// A page of the records of all callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordPage {
    /// The records.
    pub records: Vec<RecordEntry>,
    /// The number of records that cannot be read, or whose keys are unknown.
    pub damaged: usize,
    /// The position of the last entry; `None` if there are no more.
    pub last: Option<Vec<u8>>,
}

/// A small record of any caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordEntry {
    /// The caller.
    pub owner: Caller,
    /// The record's key.
    pub key: RecordKey,
    /// The record's value.
    pub value: Vec<u8>,
}
