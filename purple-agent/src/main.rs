//! The `purple-agent` program.

fn main() -> std::process::ExitCode {
    bridge_program::keeper::main(purple_agent::cli::main)
}
