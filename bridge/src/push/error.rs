//! Why a setting is not kept.

use bridge_protocol::wire::FieldError;

use crate::store::StoreError;

/// Why a setting is not kept, or nothing can be delivered at all.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// A field is not as it has to be; seen from the setting.
    #[error("{0}")]
    Field(#[source] FieldError),
    /// The task has as many as it may.
    #[error(
        "task {task} has {limit} push notification settings, which is the limit: delete one first"
    )]
    TooMany {
        /// The task.
        task: String,
        /// How many it may have.
        limit: usize,
    },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(#[from] StoreError),
    /// There is no way to deliver anything.
    #[error("nothing can be delivered from this machine: {0}")]
    Client(#[source] reqwest::Error),
}

impl From<FieldError> for PushError {
    fn from(error: FieldError) -> Self {
        Self::Field(error)
    }
}
