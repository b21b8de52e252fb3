//! The `mcp-tools` program.

fn main() -> std::process::ExitCode {
    mcp_tools::cli::main()
}
