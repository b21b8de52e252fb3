//! npm packages for tests, each set installed once below `target/`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{kept, program::run};

/// The time limit of one installation.
const INSTALL: Duration = Duration::from_secs(900);

/// The Node package, because the packages need a newer Node than Debian has.
const NODE: &str = "node@22.23.3";

/// A folder with installed npm packages and Node.
pub(crate) struct Node(PathBuf);

impl Node {
    /// Installs this package.
    pub(crate) async fn with(package: &str) -> Self {
        Self(kept::folder("node-packages", &[NODE, package], fill).await)
    }

    /// Returns a command that runs a file of a package.
    pub(crate) fn command(&self, script: &str) -> Command {
        self.run(self.0.join("node_modules").join(script))
    }

    /// Returns a command that runs a script, which finds the packages.
    pub(crate) fn run(&self, script: impl AsRef<OsStr>) -> Command {
        let bin = self.0.join("node_modules/node/bin");
        let mut command = Command::new(bin.join("node"));
        let path = std::env::var("PATH").unwrap_or_default();
        // The packages' programs start `node` themselves.
        command
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("NODE_PATH", self.0.join("node_modules"))
            .arg(script);
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
    assert!(done, "npm is needed for these tests, and cannot install {packages:?}:\n{said}");
}
