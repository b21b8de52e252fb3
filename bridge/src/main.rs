//! The `bridge` program.

#[cfg(feature = "mimalloc")]
use bridge_allocator as _;

fn main() -> std::process::ExitCode {
    bridge::cli::main()
}
