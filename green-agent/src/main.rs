//! The `green-agent` program.

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
use bridge_allocator as _;
use green_agent::{cli, participant::supervisor, recorder};

fn main() -> ExitCode {
    supervisor::main(|| {
        let mut args = std::env::args_os().skip(1);
        match args.next() {
            Some(first) if first == recorder::RECORD_STDIO => recorder::record_stdio(args),
            Some(_) | None => cli::main(),
        }
    })
}
