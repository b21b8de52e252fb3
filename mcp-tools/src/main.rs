//! The `mcp-tools` program.

fn main() -> std::process::ExitCode {
    bridge_program::keeper::main(mcp_tools::cli::main)
}
