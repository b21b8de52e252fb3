//! Clients that are not ours go through every kind of conversation with the program. What they do stands
//! in `tests/interop/`; what of their behaviour is a fault of theirs in `KNOWN.md` there.

use std::{path::PathBuf, time::Duration};

use tokio::process::Command;

use crate::{
    node,
    program::{Bridge, run, target},
    venv,
};

/// How long it may take to build a client.
const BUILD: Duration = Duration::from_secs(900);

/// Longer than a client waits by itself.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test]
async fn a2a_sdk_speaks_1_0() {
    converse("a2a_sdk_1_0.py", &["a2a-sdk==1.3.0"]).await;
}

#[tokio::test]
async fn a2a_sdk_speaks_0_3() {
    converse("a2a_sdk_0_3.py", &["a2a-sdk==0.3.26"]).await;
}

#[tokio::test]
async fn python_a2a_speaks_0_1() {
    converse("python_a2a_0_1.py", &["python-a2a==0.5.10"]).await;
}

#[tokio::test]
async fn the_js_sdk_speaks_1_0() {
    let modules = node::with(&["@a2a-js/sdk@1.3.0", "express@5.2.1"]).await;
    for transport in ["JSONRPC"] {
        let mut command = Command::new("node");
        command.arg(interop("a2a_js_sdk_1_0.mjs"));
        // The bridge's address comes before the transport.
        let bridge = serve();
        command
            .env("NODE_PATH", &modules)
            .arg(bridge.url())
            .arg(transport);
        let (passed, said) = run(&mut command, LIMIT).await;
        assert!(passed, "over {transport}:\n{said}");
    }
}

#[tokio::test]
async fn auditors_find_nothing_but_what_is_known() {
    converse("auditors.py", &["a2a-doctor==0.4.0", "a2a-lint==0.1.1"]).await;
}

/// The official Rust client is built for this test alone, once: see its `Cargo.toml`.
#[tokio::test]
async fn a2a_client_lf_speaks_1_0() {
    let built = target().join("interop-rust");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--manifest-path"]);
    cargo.arg(interop("a2a_client_lf/Cargo.toml"));
    let (done, said) = run(cargo.arg("--target-dir").arg(&built), BUILD).await;
    assert!(done, "the official Rust client cannot be built:\n{said}");
    let client = built.join("debug/a2a_client_lf");
    talk("a2a_client_lf", Command::new(client)).await;
}

/// Lets a client in Python talk, in an environment with these packages.
async fn converse(client: &str, packages: &[&str]) {
    let mut command = Command::new(venv::with(packages).await.join("bin/python"));
    command.arg(interop(client));
    talk(client, command).await;
}

/// Lets a client talk to a bridge of its own; its checks are this test's.
async fn talk(client: &str, mut command: Command) {
    let bridge = serve();
    let (passed, said) = run(command.arg(bridge.url()), LIMIT).await;
    println!("{said}");
    assert!(passed, "{client} saw what it did not expect:\n{said}");
}

fn serve() -> Bridge {
    let builtins = ["sample", "echo", "hanging"].map(|name| ["--builtin", name]);
    Bridge::serve(&[&["--store", "memory"], builtins.as_flattened()].concat())
}

fn interop(file: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop");
    PathBuf::from(folder).join(file)
}
