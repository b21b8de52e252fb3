//! Exit codes: the one place that says what each means.
//!
//! | code | meaning |
//! |-|-|
//! | 0 | passed, done, or stopped in good order |
//! | 1 | what was asked for was carried out and did not pass: an expectation, a snapshot, an evaluation, a check |
//! | 2 | the command line is wrong |
//! | 3 | a file that was named could not be read |
//! | 4 | infrastructure: what is needed crashed, hung, could not be reached or is missing |
//!
//! Of several, 4 wins over 3 over 1 over 0: what could not be carried out says nothing about the agents, and
//! must not look as if it did.

use serde::Serialize;

/// What the program tells its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "u8")]
pub enum Exit {
    /// All passed, or all is done.
    #[default]
    Passed,
    /// What was judged did not pass.
    Failed,
    /// The command line is wrong.
    Usage,
    /// A file could not be read.
    Unreadable,
    /// It could not be carried out.
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

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        u8::from(exit).into()
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn infrastructure_wins_over_unreadable_over_failed() {
        let codes = [
            Exit::Failed,
            Exit::Infrastructure,
            Exit::Unreadable,
            Exit::Passed,
        ];
        assert_eq!(codes.into_iter().max(), Some(Exit::Infrastructure));
        assert!(Exit::Unreadable > Exit::Failed && Exit::Failed > Exit::Passed);
    }
}
