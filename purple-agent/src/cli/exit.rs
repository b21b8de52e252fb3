//! Exit codes, the same as those of `green-agent`.

use std::process::ExitCode;

/// What the program tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// The evaluation was passed; a server was stopped in good order.
    Passed,
    /// The evaluation was not passed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The evaluation could not be carried out, so it says nothing about the agent.
    Infrastructure,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        let code: u8 = match exit {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Infrastructure => 4,
        };
        code.into()
    }
}
