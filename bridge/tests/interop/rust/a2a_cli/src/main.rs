//! The official command line client (crate `a2a-cli`), built beside the official client and server so that their common
//! dependencies are built once.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match a2acli::run_args(std::env::args_os()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))
        }
    }
}
