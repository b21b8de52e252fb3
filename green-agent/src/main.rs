//! The `green-agent` program.

use std::process::ExitCode;

use green_agent::{cli, participant::keeper};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == keeper::KEEP) {
        return keeper::keep(args);
    }
    cli::main()
}
