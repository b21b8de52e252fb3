//! The errors of push notifications.

use bridge_http::root_cause;
use bridge_protocol::wire::FieldError;

use crate::store::StoreError;

/// The reason why a setting is refused, or why nothing can be delivered at all.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PushError {
    /// A field of the setting is not valid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The task has as many settings as are allowed.
    #[error(
        "task {task} has {limit} push notification settings, which is the limit: delete one first"
    )]
    TooMany { task: String, limit: usize },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(StoreError),
    /// The HTTP client could not be created.
    #[error("the HTTP client for webhooks cannot be created: {}", root_cause(.0))]
    Client(reqwest::Error),
}

impl From<StoreError> for PushError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
