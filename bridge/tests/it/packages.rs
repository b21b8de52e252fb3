//! The packages for people without Rust: a wheel and an npm package, installed into empty folders and used there.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use tokio::process::Command;

use crate::{
    program::{Bridge, run},
    venv,
};

/// The time to compress a program twice, or to install it.
const LIMIT: Duration = Duration::from_secs(600);

/// The package that creates wheels.
const WHEEL: [&str; 1] = ["wheel==0.46.3"];

async fn done(command: &mut Command) -> String {
    let (done, said) = run(command, LIMIT).await;
    assert!(done, "{command:?}: {said}");
    said
}

/// Makes both packages of the program under test.
async fn packages(out: &Path) -> [PathBuf; 2] {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/package");
    let python = venv::with(&WHEEL).await.join("bin/python");
    let mut package = Command::new(python);
    package.arg(script).arg(env!("CARGO_BIN_EXE_bridge"));
    let said = done(package.arg(out)).await;
    let mut paths = said.lines().map(PathBuf::from);
    [paths.next().unwrap(), paths.next().unwrap()]
}

/// Starts the installed program with nothing else on its search path, in front of a bot that is not there, and reads
/// the agent's card.
async fn serves_a_bot(programs: &Path) {
    let mut bridge = std::process::Command::new(programs.join("bridge"));
    bridge.env_clear().env("PATH", programs);
    let store = ["serve", "--listen", "127.0.0.1:0", "--store", "memory"];
    let bot = ["--bot", "assistant=http://127.0.0.1:9/api/messages"];
    let bridge = Bridge::listening(bridge.args(store).args(bot));
    let card = format!("{}/a2a/assistant/.well-known/agent-card.json", bridge.url());
    let card: Value = reqwest::get(card).await.unwrap().json().await.unwrap();
    assert_eq!(card["name"], "assistant", "{card}");
}

#[tokio::test]
async fn the_wheel_and_the_npm_package_bring_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let [wheel, npm] = packages(folder.path()).await;

    let environment = folder.path().join("venv");
    let mut venv = Command::new("python3");
    done(venv.args(["-I", "-m", "venv"]).arg(&environment)).await;
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-index"]);
    done(pip.arg(wheel)).await;
    serves_a_bot(&environment.join("bin")).await;

    let node = folder.path().join("node");
    std::fs::create_dir(&node).unwrap();
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--offline", "--no-audit"]);
    done(install.arg(npm).current_dir(&node)).await;
    serves_a_bot(&node.join("node_modules/.bin")).await;
}
