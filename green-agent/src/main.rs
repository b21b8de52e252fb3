//! The `green-agent` program.

use std::process::ExitCode;

use green_agent::{cli, participant::keeper, recorder};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(first) if first == keeper::KEEP => keeper::keep(args),
        Some(first) if first == recorder::RECORD_STDIO => recorder::record_stdio(args),
        Some(_) | None => cli::main(),
    }
}
