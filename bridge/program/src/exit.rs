//! The exit codes of all programs and their meaning.
//!
//! | code | meaning |
//! |-|-|
//! | 0 | passed, done, or stopped gracefully |
//! | 1 | the work was carried out and did not pass: an expectation, a snapshot, an evaluation, a check |
//! | 2 | the command line is wrong |
//! | 3 | a file that was named could not be read |
//! | 4 | infrastructure: something that is needed crashed, hung, could not be reached or is missing |
//!
//! If several apply, 4 takes precedence over 3, 3 over 1, and 1 over 0: work that could not be carried out says
//! nothing about the agents, and must not look as if it did.

use std::{error::Error, fmt::Display};

use serde::{Deserialize, Serialize};

use crate::{errln, terminal::is_cut};

/// The exit code of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Exit {
    /// Everything passed, or the work is done.
    #[default]
    Passed,
    /// The judged work did not pass.
    Failed,
    /// The command line is wrong.
    Usage,
    /// A file could not be read.
    Unreadable,
    /// The work could not be carried out.
    Infrastructure,
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Unreadable => 3,
            Exit::Infrastructure => 4,
        }
    }
}

impl TryFrom<u8> for Exit {
    type Error = String;

    fn try_from(code: u8) -> Result<Self, Self::Error> {
        match code {
            0 => Ok(Self::Passed),
            1 => Ok(Self::Failed),
            2 => Ok(Self::Usage),
            3 => Ok(Self::Unreadable),
            4 => Ok(Self::Infrastructure),
            other => Err(format!("expected an exit code from 0 to 4, found {other}")),
        }
    }
}

/// An error with the exit code of the command that it ends.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    why: Box<dyn Error>,
}

/// Gives an error this exit code.
pub fn failure<E: Into<Box<dyn Error>>>(exit: Exit) -> impl Fn(E) -> Failure {
    move |why| Failure { exit, why: why.into() }
}

/// Ends a command at an error.
pub trait OrExit<T> {
    /// Prints the error on standard error, and gives this exit code in its place.
    ///
    /// # Errors
    /// The exit code, if there is an error.
    fn or_exit(self, exit: Exit) -> Result<T, Exit>;
}

impl<T, E: Display> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Exit> {
        self.map_err(|error| {
            errln!("error: {error}");
            exit
        })
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        // A result is of no use if it could not be printed.
        let exit = if is_cut() { Exit::Infrastructure } else { exit };
        u8::from(exit).into()
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn every_code_is_read_back() {
        for code in 0..=4 {
            assert_eq!(Exit::try_from(code).map(u8::from), Ok(code));
        }
        assert!(Exit::try_from(5).is_err());
    }

    #[test]
    fn infrastructure_wins_over_unreadable_over_failed() {
        let codes = [Exit::Failed, Exit::Infrastructure, Exit::Unreadable, Exit::Passed];
        assert_eq!(codes.into_iter().max(), Some(Exit::Infrastructure));
        assert!(Exit::Unreadable > Exit::Failed && Exit::Failed > Exit::Passed);
    }
}
