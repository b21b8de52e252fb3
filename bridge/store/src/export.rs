//! All that a store holds, for those who check or copy it.

use async_trait::async_trait;

use super::{RecordKey, Store, StoreError};
use crate::caller::Caller;

/// A store that can tell all that it holds.
#[async_trait]
pub trait ExportStore: Store {
    /// Returns the tasks of all callers in an order of the store, beginning after this place (empty for the beginning),
    /// at most `limit`, and the place of the last one.
    async fn all_tasks(&self, after: &[u8], limit: usize) -> Result<TaskPage, StoreError>;

    /// Returns the records of all callers in the same way.
    async fn all_records(&self, after: &[u8], limit: usize) -> Result<RecordPage, StoreError>;

    /// Returns the number of other processes that have the store open.
    async fn other_processes(&self) -> Result<usize, StoreError> {
        Ok(0)
    }
}

/// Tasks of all callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskEntry>,
    /// The place of the last one; `None` if there are no more.
    pub last: Option<Vec<u8>>,
}

/// A task of any caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEntry {
    /// One that can be read, with its owner.
    Intact(String, Caller),
    /// One that cannot be read, with the reason.
    Damaged(String, String),
}

/// Records of all callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordPage {
    /// The records.
    pub records: Vec<RecordEntry>,
    /// The number of records that cannot be read, or whose names are not known.
    pub damaged: usize,
    /// The place of the last one; `None` if there are no more.
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
