//! The `bridge` program.

fn main() -> std::process::ExitCode {
    bridge::cli::main()
}
