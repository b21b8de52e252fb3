//! The programs on the official Rust SDK: a workspace of its own below `tests/interop/rust`, because it
//! brings other versions of what the bridge is built on. It is built once for all who run something of it, into the
//! target folder of these tests, which has the dependencies that both share.

use std::{path::PathBuf, time::Duration};

use tokio::process::Command;

use crate::program::{run, target};

/// How long it may take to build them all.
const BUILD: Duration = Duration::from_secs(900);

/// Where the program of this name is, built. Cargo has tests that build at the same time wait.
pub(crate) async fn program(name: &str) -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/rust/Cargo.toml");
    // By name, since rustup's `cargo` tells `rustc` which toolchain is meant. A crate with a toolchain file of its own would
    // get another one otherwise.
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--manifest-path", manifest]);
    let (done, said) = run(cargo.arg("--target-dir").arg(target()), BUILD).await;
    assert!(
        done,
        "what is on the official Rust SDK cannot be built:\n{said}"
    );
    target().join("debug").join(name)
}
