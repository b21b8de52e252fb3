//! Exit codes: the one place that says what each means. They are those of `green-agent`.

/// What the program tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done: 0.
    Done,
    /// A tool's result is an error, or an episode's goal was not reached: 1.
    Failed,
    /// No server, no connection, no answer: 4.
    Infrastructure,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Infrastructure => 4,
        })
    }
}
