//! Clients that are not ours go through every kind of conversation with the program. What they do stands
//! in `tests/interop/`; what of their behaviour is a fault of theirs in `KNOWN.md` there.

use std::{path::PathBuf, time::Duration};

use tokio::process::Command;

use crate::{program::Bridge, venv};

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
async fn auditors_find_nothing_but_what_is_known() {
    converse("auditors.py", &["a2a-doctor==0.4.0", "a2a-lint==0.1.1"]).await;
}

/// Lets a client talk to a bridge of its own; its checks are this test's.
async fn converse(client: &str, packages: &[&str]) {
    let python = venv::with(packages).await.join("bin/python");
    let bridge = serve();
    let mut command = Command::new(python);
    let command = command.arg(interop(client)).arg(bridge.url());
    let (passed, said) = venv::run(command, LIMIT).await;
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
