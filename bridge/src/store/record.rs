//! Small records beside the log, such as push settings and conversation states.

use serde::{Deserialize, Serialize};

use super::StoreError;

/// The largest record, in bytes.
pub(crate) const LIMIT: usize = 64 * 1024;

/// Where a small record stands, within what belongs to its caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey {
    /// What it is, such as `push`.
    pub kind: String,
    /// What it belongs to, such as a task.
    pub scope: String,
    /// Which one of those.
    pub id: String,
}

impl RecordKey {
    /// Refuses a value of more than 64 KiB: every backend asks before it keeps one.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn check(&self, value: &[u8]) -> Result<(), StoreError> {
        match value.len() {
            0..=LIMIT => Ok(()),
            size => Err(StoreError::TooLarge {
                what: format!("record {}/{}/{}", self.kind, self.scope, self.id),
                size,
                limit: LIMIT,
            }),
        }
    }
}

/// A record's value as JSON; types with nothing but strings and numbers always have some.
pub(crate) fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// Reads a record that was [`encoded`].
///
/// # Errors
/// [`StoreError::Corrupt`].
pub(crate) fn decoded<T: for<'de> Deserialize<'de>>(
    key: &RecordKey,
    record: &[u8],
) -> Result<T, StoreError> {
    serde_json::from_slice(record).map_err(|error| {
        // The id may be a secret, so the error does not name it.
        StoreError::corrupt(format!("a record of the kind {}", key.kind), &error)
    })
}
