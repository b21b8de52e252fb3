//! The `purple-agent` program.

fn main() -> std::process::ExitCode {
    bridge_program::supervisor::main(purple_agent::cli::main)
}
