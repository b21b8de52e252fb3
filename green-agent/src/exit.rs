//! Exit codes: the one place that says what each means.
//!
//! | code | meaning |
//! |-|-|
//! | 0 | every scenario passed |
//! | 1 | an expectation, a snapshot or the evaluation failed |
//! | 2 | the command line is wrong |
//! | 3 | a scenario could not be read |
//! | 4 | infrastructure: an agent crashed, was never ready or hung; something required is missing |
//!
//! Of several, 4 wins over 3 over 1 over 0: a run that could not be carried out says nothing about the
//! agents, and must not look as if it did.

use serde::Serialize;

/// What the program tells its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "u8")]
pub enum Exit {
    /// Every scenario passed.
    #[default]
    Passed,
    /// An expectation, a snapshot or the evaluation failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// A scenario could not be read.
    Unreadable,
    /// The run could not be carried out.
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
