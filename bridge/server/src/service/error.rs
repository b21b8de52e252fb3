//! Converts internal errors to errors of the protocol.

use bridge_protocol::{
    a2a::{Error, ErrorKind},
    wire::FieldError,
};

use super::sequence;
use crate::{
    quota::Exceeded,
    store::StoreError,
    turns::{TurnError, UnloggedEnd},
};

/// `Retry-After` in seconds if the store could not accept a request.
const STORE_RETRY_SECONDS: u32 = 5;

/// `Retry-After` in seconds if running turns leave no memory, or no place, for a message.
const MEMORY_RETRY_SECONDS: u32 = 1;

/// Converts a limit that a caller has reached.
pub(super) fn of_quota(exceeded: Exceeded) -> Error {
    Error::exhausted(exceeded.to_string(), exceeded.retry_after)
}

/// Converts the reason why a turn was not accepted.
pub(super) fn of_turn(error: TurnError) -> Error {
    match error {
        TurnError::NotFound { task } => Error::task_not_found(&task),
        TurnError::Ended { .. } | TurnError::TaskTooLarge { .. } => {
            Error::new(ErrorKind::UnsupportedOperation, error.to_string())
        }
        TurnError::OtherContext { actual, named, .. } => {
            let expected = format!("the task's context {actual:?}, or none");
            let error = FieldError::new(expected, format!("{named:?}"));
            error.inside("contextId").inside("message").into()
        }
        TurnError::OtherMessage { message_id, task, differs } => {
            let expected = "an id that no other message has";
            let found = format!(
                "{message_id:?}, the id of a message in task {task:?} that differs in {differs}"
            );
            let error = FieldError::new(expected, found);
            error.inside("messageId").inside("message").into()
        }
        TurnError::MovedOn { newest, seen, .. } => {
            let expected = format!("the task's last event, {newest}");
            sequence::not_met(FieldError::new(expected, seen.to_string())).into()
        }
        TurnError::Busy { .. } | TurnError::OutOfMemory { .. } | TurnError::AgentBusy { .. } => {
            Error::unavailable(error.to_string(), MEMORY_RETRY_SECONDS)
        }
        TurnError::NoAgent { .. } => Error::new(ErrorKind::InvalidRequest, error.to_string()),
        TurnError::Store(error) => of_store(error),
    }
}

/// Returns the error for an answer that the task log does not accept. The request's message is in the log, so that
/// a repeated request gets the answer once it is logged.
pub(super) fn of_unlogged_end(end: UnloggedEnd) -> Error {
    let cause = match end {
        UnloggedEnd::Full => "its disk is full",
        UnloggedEnd::Rebuilding => "its task log is being rebuilt",
        UnloggedEnd::Unavailable => "its task log is not available",
        UnloggedEnd::Failing => "its task log accepts no writes at present",
        UnloggedEnd::Lost => return failed_log(),
    };
    let message = format!(
        "the agent has the message, but {cause}: send the request again later, with the same messageId"
    );
    Error::unavailable(message, STORE_RETRY_SECONDS)
}

/// Converts a store error. Details of the store are only logged: clients need not know paths and causes.
pub(super) fn of_store(error: StoreError) -> Error {
    let later = |message: &str| Error::unavailable(message, STORE_RETRY_SECONDS);
    match error {
        StoreError::NotFound { task } => Error::task_not_found(&task),
        StoreError::PageToken { .. } => {
            let error = FieldError::new("the nextPageToken of the last page", "something else");
            error.inside("pageToken").into()
        }
        StoreError::TooLarge { what, size, limit } => {
            let expected = format!("at most {limit} bytes in {what}");
            FieldError::new(expected, format!("{size} bytes")).inside("message").into()
        }
        StoreError::Ended { .. } | StoreError::Open { .. } => {
            Error::new(ErrorKind::UnsupportedOperation, error.to_string())
        }
        StoreError::Full { .. } => later("the agent's disk is full: send the request again later"),
        StoreError::Rebuilding => {
            later("the agent's task log is being rebuilt: send the request again later")
        }
        StoreError::Unavailable { .. } => later(
            "the agent cannot reach its task log: send the request again later, with the same messageId",
        ),
        StoreError::Damaged { task, reason } => {
            // The damage was reported when it was found.
            tracing::debug!(task, reason, "a damaged task was requested");
            let message = format!(
                "task {task} is damaged in the agent's store: it can neither be read nor continued; other tasks are \
                 not affected"
            );
            Error::new(ErrorKind::Internal, message)
        }
        StoreError::Conflict { .. }
        | StoreError::Duplicate { .. }
        | StoreError::Taken { .. }
        | StoreError::Invalid { .. }
        | StoreError::Corrupt { .. }
        | StoreError::InUse { .. }
        | StoreError::Older { .. }
        | StoreError::Newer { .. }
        | StoreError::Unfinished { .. }
        | StoreError::Unsupported { .. } => {
            tracing::error!(%error, "the task log failed");
            Error::new(ErrorKind::Internal, "the task log failed")
        }
        StoreError::Io { .. } | StoreError::Closed => {
            if !error.is_reported_by_store() {
                tracing::error!(%error, "the task log failed");
            }
            failed_log()
        }
    }
}

/// Returns the error for a task log that could not be read or written. It may work again soon, after a restart at the latest.
fn failed_log() -> Error {
    let message =
        "the agent's task log has failed: send the request again later, with the same messageId";
    Error::unavailable(message, STORE_RETRY_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_named() {
        let error = of_store(StoreError::TooLarge {
            what: "the ids and open turns of task t".to_owned(),
            size: 9,
            limit: 8,
        });
        assert_eq!(
            error.message,
            "message: expected at most 8 bytes in the ids and open turns of task t, found 9 bytes"
        );
    }
}
