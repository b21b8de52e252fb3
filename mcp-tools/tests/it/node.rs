//! Programs of npm, each set installed once and kept below `target/`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{kept, program::run};

/// How long one installation may take.
const INSTALL: Duration = Duration::from_secs(300);

/// What runs the packages: they need a newer Node than Debian has.
const NODE: &str = "node@22.23.3";

/// A folder with packages of npm in it, and a Node.
pub(crate) struct Node(PathBuf);

impl Node {
    /// Tests that want the same at the same time wait for the first.
    pub(crate) async fn with(package: &str) -> Self {
        Self(kept::folder("node-packages", &[NODE, package], fill).await)
    }

    /// Node with a file of a package.
    pub(crate) fn command(&self, script: &str) -> Command {
        let bin = self.0.join("node_modules/node/bin");
        let mut command = Command::new(bin.join("node"));
        let path = std::env::var("PATH").unwrap_or_default();
        // Programs of packages start `node` in their turn.
        command
            .env("PATH", format!("{}:{path}", bin.display()))
            .arg(self.0.join("node_modules").join(script));
        command
    }
}

async fn fill(folder: &Path, packages: &[&str]) {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg("--prefix")
        .arg(folder)
        .args(packages);
    let (done, said) = run(&mut npm, INSTALL).await;
    assert!(
        done,
        "npm is needed for these tests, and cannot install {packages:?}:\n{said}"
    );
}
