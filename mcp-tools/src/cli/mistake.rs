//! An error that is not one of the infrastructure.

use std::error::Error;

use bridge_program::Exit;

/// A mistake in the flags, or in a file that they name. All other errors end the program with [`Exit::Infrastructure`].
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Mistake {
    text: String,
    exit: Exit,
}

impl Mistake {
    /// Makes an error of the command line.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit: Exit::Usage }
    }

    /// Makes an error of a file that the command line names.
    pub(super) fn file(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit: Exit::Unreadable }
    }

    /// Returns the exit code of any error of a command.
    pub(super) fn exit_of(error: &(dyn Error + 'static)) -> Exit {
        error.downcast_ref().map_or(Exit::Infrastructure, |mistake: &Self| mistake.exit)
    }
}
