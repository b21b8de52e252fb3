//! Small records beside the log, such as push settings and conversation states.

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

/// Refuses records that belong into the log or into a file.
pub(crate) fn check_size(key: &RecordKey, value: &[u8]) -> Result<(), super::StoreError> {
    match value.len() {
        0..=LIMIT => Ok(()),
        size => Err(super::StoreError::TooLarge {
            what: format!("record {}/{}/{}", key.kind, key.scope, key.id),
            size,
            limit: LIMIT,
        }),
    }
}
