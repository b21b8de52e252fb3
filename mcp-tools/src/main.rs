//! The `mcp-tools` program.

fn main() -> std::process::ExitCode {
    bridge_program::supervisor::main(mcp_tools::cli::main)
}
