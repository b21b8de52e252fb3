//! The end of a process.

use std::{fmt, process::ExitStatus};

use super::system::{signal_name, signal_of};

/// The number that shells add to a signal's number to report it as an exit code.
const SIGNAL_BASE: i32 = 128;

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// The process exited with this code.
    Code(i32),
    /// A signal ended the process. A program that exits with 128 + N, as shells do for a child that signal N
    /// ended, counts as ended by signal N.
    Signal(i32),
    /// The process is gone or unreachable, and its end is not known.
    Unknown,
}

impl ProcessExit {
    /// Returns the exit code in the notation of shells.
    pub fn code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => SIGNAL_BASE + signal,
            Self::Unknown => 255,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), signal_of(status)) {
            (Some(code), _) if signal_name(code - SIGNAL_BASE).is_some() => {
                Self::Signal(code - SIGNAL_BASE)
            }
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "was killed by signal {number} ({name})"),
                None => write!(f, "was killed by signal {number}"),
            },
            Self::Unknown => f.write_str("ended with an unknown status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn an_exit_survives_the_way_through_the_supervisors_code() {
        let cases = [
            (ProcessExit::Code(0), "exited with code 0"),
            (ProcessExit::Code(7), "exited with code 7"),
            (ProcessExit::Signal(9), "was killed by signal 9 (SIGKILL)"),
            (ProcessExit::Signal(15), "was killed by signal 15 (SIGTERM)"),
        ];
        for (exit, shown) in cases {
            assert_eq!(exit.to_string(), shown);
            let status = ExitStatus::from_raw(i32::from(exit.code()) << 8);
            assert_eq!(ProcessExit::from(status), exit);
        }
    }

    #[test]
    fn a_high_code_that_is_no_signal_stays_a_code() {
        assert_eq!(ProcessExit::from(ExitStatus::from_raw(255 << 8)), ProcessExit::Code(255));
    }
}
