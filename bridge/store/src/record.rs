//! Small records that do not belong to a task's log, such as push settings and conversation states.

use serde::{Deserialize, Serialize};

use super::{Result, StoreError};

/// The largest record, in bytes.
pub(crate) const LIMIT: usize = 64 * 1024;

/// The key of a small record among those of its caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey {
    /// The kind of the record, such as `push`.
    pub kind: String,
    /// The object that the record belongs to, such as a task.
    pub scope: String,
    /// The record's id within kind and scope.
    pub id: String,
}

impl RecordKey {
    /// Creates the key of a record of this kind.
    pub fn new(kind: impl Into<String>, scope: impl Into<String>, id: impl Into<String>) -> Self {
        Self { kind: kind.into(), scope: scope.into(), id: id.into() }
    }
    /// Checks that a value has at most 64 KiB. Every backend calls this before it stores a record.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn check(&self, value: &[u8]) -> Result<()> {
        let Self { kind, scope, id } = self;
        StoreError::check_size(value.len(), LIMIT, || format!("record {kind}/{scope}/{id}"))
    }
}

/// Writes a record's value as JSON. This cannot fail for types that consist of strings and numbers.
pub fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// Reads a record that was written by [`encoded`].
///
/// # Errors
/// [`StoreError::Corrupt`].
pub fn decoded<T: for<'de> Deserialize<'de>>(key: &RecordKey, record: &[u8]) -> Result<T> {
    // The id may be a secret, so the error does not name it.
    decoded_value(&format!("a record of the kind {}", key.kind), record)
}

/// Reads a value that was written by [`encoded`]. The error describes it as `what`.
///
/// # Errors
/// [`StoreError::Corrupt`].
pub fn decoded_value<T: for<'de> Deserialize<'de>>(what: &str, json: &[u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| StoreError::corrupt(what, &error))
}
