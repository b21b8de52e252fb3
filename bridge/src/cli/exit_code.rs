//! The exit codes of errors with which commands end.

use std::error::Error;

use bridge_program::Exit;

use super::{serve, store::StoreMissing};
use crate::{
    config::{ConfigErrors, Problem},
    host::HostError,
    store::StoreError,
};

/// Returns the exit code for an error, as listed in docs/reference/exit-codes.md.
pub(super) fn of(error: &(dyn Error + 'static)) -> Exit {
    if let Some(ConfigErrors(errors)) = error.downcast_ref() {
        let is_unreadable =
            |problem: &Problem| matches!(problem, Problem::Unreadable(_) | Problem::NoFile { .. });
        return match errors.iter().any(|error| is_unreadable(&error.problem)) {
            true => Exit::Unreadable,
            false => Exit::Failed,
        };
    }
    // A service manager starts the program again, which may succeed then.
    let is_missing = error.is::<serve::LeaseLost>()
        || error.is::<serve::ListenError>()
        || error.is::<StoreError>()
        || error.is::<StoreMissing>()
        || matches!(error.downcast_ref(), Some(HostError::Recover(_)));
    match is_missing {
        true => Exit::Infrastructure,
        false => Exit::Failed,
    }
}
