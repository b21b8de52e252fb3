//! Tests that no server process is left when the program that started it is killed.

use std::process::{Command, Stdio};

use crate::deaf;

#[test]
fn a_killed_program_leaves_no_server_behind() {
    let dir = tempfile::tempdir().unwrap();
    let server = deaf::program(dir.path());
    let starter = Command::new(env!("CARGO_BIN_EXE_mcp-tools"))
        .args(["list", "--command"])
        .arg(server)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    deaf::ends_with(starter, dir.path());
}
