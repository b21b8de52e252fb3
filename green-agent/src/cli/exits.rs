//! The exit codes of errors that several commands can have.

use crate::{
    record::{MergeError, RecordError},
    run::RunLogError,
};
use bridge_program::Exit;

pub(super) fn of_record_error(error: &RecordError) -> Exit {
    match error {
        RecordError::Read { .. }
        | RecordError::NotARun(_)
        | RecordError::Manifest { .. }
        | RecordError::Line { .. }
        | RecordError::TooLong { .. }
        | RecordError::Newer { .. } => Exit::Unreadable,
        RecordError::Write { .. } | RecordError::InUse(_) => Exit::Infrastructure,
    }
}

pub(super) fn of_merge_error(error: &MergeError) -> Exit {
    match error {
        MergeError::Records(error) => of_record_error(error),
        MergeError::Outside { .. } => Exit::Unreadable,
        MergeError::Scenarios { .. }
        | MergeError::Settings { .. }
        | MergeError::Exists(_)
        | MergeError::NotEmpty { .. } => Exit::Usage,
        MergeError::Copy { .. } => Exit::Infrastructure,
    }
}

/// Returns the exit code of an error of a run's log. A scenario that does not fit the run counts as unreadable.
pub(super) fn of_log_error(error: &RunLogError) -> Exit {
    match error {
        RunLogError::Records(error) => of_record_error(error),
        RunLogError::NoScenario(_) | RunLogError::Changed(_) | RunLogError::NoTrial { .. } => {
            Exit::Unreadable
        }
        RunLogError::Begun(_) => Exit::Usage,
        RunLogError::Folder { .. } => Exit::Infrastructure,
    }
}
