//! The programs on the official Rust SDK: a separate workspace below `tests/interop/rust`, because it has other
//! versions of the bridge's dependencies. It is built once for all tests, into their target folder, which has the
//! dependencies that both share.

use std::{path::PathBuf, time::Duration};

use tokio::process::Command;

use crate::program::{run, target};

/// The time limit for building all of them.
const BUILD: Duration = Duration::from_secs(1800);

/// Returns the path of the program with this name, built. Concurrent builds wait for Cargo's lock.
pub(crate) async fn program(name: &str) -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/rust/Cargo.toml");
    // Cargo is called by its name, because rustup's `cargo` passes the toolchain on to `rustc`. A crate with its own
    // toolchain file would otherwise get another one.
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--manifest-path", manifest]);
    let (done, said) = run(cargo.arg("--target-dir").arg(target()), BUILD).await;
    assert!(done, "what is on the official Rust SDK cannot be built:\n{said}");
    target().join("debug").join(name)
}
