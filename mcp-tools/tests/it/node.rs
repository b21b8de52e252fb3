//! Programs of npm, each set installed once and kept below `target/`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::program::{run, target};

/// How long one installation may take.
const INSTALL: Duration = Duration::from_secs(300);

/// Written last: a folder without it was not filled to its end.
const MARKER: &str = "ready";

/// What runs the packages: they need a newer Node than Debian has.
const NODE: &str = "node@22.23.3";

/// A folder with packages of npm in it, and a Node.
pub(crate) struct Node(PathBuf);

impl Node {
    /// Tests that want the same at the same time wait for the first.
    pub(crate) async fn with(package: &str) -> Self {
        let wanted = format!("{NODE}\n{package}");
        let hash = format!("{:x}", Sha256::digest(&wanted));
        let folder = target().join("node-packages").join(&hash[..16]);
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        let lock = File::create(folder.with_extension("lock")).unwrap();
        // Whoever holds it is ended by its own limit.
        let _lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock))
            .await
            .unwrap()
            .expect("the folder's lock can be had");
        if fs::read_to_string(folder.join(MARKER)).ok().as_deref() != Some(&*wanted) {
            fill(&folder, package).await;
            fs::write(folder.join(MARKER), &wanted).unwrap();
        }
        Self(folder)
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

async fn fill(folder: &Path, package: &str) {
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg("--prefix")
        .arg(folder)
        .args([NODE, package]);
    let (done, said) = run(&mut npm, INSTALL).await;
    assert!(
        done,
        "npm is needed for these tests, and cannot install {package}:\n{said}"
    );
}
