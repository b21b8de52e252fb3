//! The command line.

use std::process::ExitCode;

/// What the program does, from its arguments to its exit code.
pub fn main() -> ExitCode {
    unimplemented!()
}
