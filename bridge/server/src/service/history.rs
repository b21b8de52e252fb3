//! Limits the history in returned tasks (specification 3.2.4).

use std::sync::Arc;

use bridge_protocol::{
    a2a::{Error, Task},
    wire::FieldError,
};
use bridge_translate::question;

use crate::caller::Caller;

/// Refuses a negative length.
pub(super) fn check(length: Option<i32>) -> Result<(), Error> {
    match length {
        Some(length) if length < 0 => {
            let error = FieldError::new("0 or more", length.to_string());
            Err(error.inside("historyLength").into())
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the name by which the size of a caller's task with this history is remembered, see
/// [`read_response`](bridge_program::read_response).
pub(super) fn sized_name(caller: &Caller, task: &str, length: Option<i32>) -> String {
    format!("{task} of {} with {length:?}", caller.id)
}

/// Keeps at most this number of a task's latest messages, or all if `length` is absent.
pub(super) fn with_history(task: Arc<Task>, length: Option<i32>) -> Arc<Task> {
    let length = length.map(|length| usize::try_from(length).unwrap_or(0));
    question::shown(task, length, true)
}
