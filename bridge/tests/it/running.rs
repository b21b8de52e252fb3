//! Runs programs of others, and keeps their requirements; the tests of `mcp-tools` use this module too.

use std::{path::Path, time::Duration};

use tokio::{process::Command, time::timeout};

/// Returns the output of a program that has to end within a limit, and whether it succeeded.
pub(crate) async fn run(command: &mut Command, limit: Duration) -> (bool, String) {
    let (code, stdout, stderr) = output(command, limit).await;
    (code == Some(0), stdout + &stderr)
}

/// Returns the exit code of a program that has to end within a limit, its output, and its errors.
pub(crate) async fn output(
    command: &mut Command,
    limit: Duration,
) -> (Option<i32>, String, String) {
    let shown = format!("{:?}", command.as_std());
    let output = timeout(limit, command.kill_on_drop(true).output()).await;
    let output = output.unwrap_or_else(|_| panic!("{shown} did not end within {limit:?}"));
    let output = output.unwrap_or_else(|error| panic!("{shown} cannot be run: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Returns the folder for files that take long to create.
pub(crate) fn target() -> &'static Path {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    own.parent().unwrap_or(own)
}
