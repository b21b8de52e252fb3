//! The `purple-agent` program.

fn main() -> std::process::ExitCode {
    purple_agent::cli::main()
}
