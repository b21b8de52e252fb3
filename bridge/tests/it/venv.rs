//! Python environments for the clients that are not ours, each made once and kept below `target/`.

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

/// A folder with these packages in it. Tests that want the same at the same time wait for the first.
pub(crate) async fn with(packages: &[&str]) -> PathBuf {
    let wanted = packages.join("\n");
    let hash = format!("{:x}", Sha256::digest(&wanted));
    let folder = target().join("interop-venvs").join(&hash[..16]);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let lock = File::create(folder.with_extension("lock")).unwrap();
    // Whoever holds it is ended by its own limit.
    tokio::task::spawn_blocking(move || lock.lock().map(|()| lock))
        .await
        .unwrap()
        .expect("the folder's lock can be had");
    if fs::read_to_string(folder.join(MARKER)).ok().as_deref() != Some(&*wanted) {
        fill(&folder, packages).await;
        fs::write(folder.join(MARKER), &wanted).unwrap();
    }
    folder
}

async fn fill(folder: &Path, packages: &[&str]) {
    drop(fs::remove_dir_all(folder));
    let mut venv = Command::new("python3");
    let venv = venv.args(["-I", "-m", "venv"]).arg(folder);
    let (done, said) = run(venv, INSTALL).await;
    assert!(
        done,
        "python3 with venv is needed for these tests (Debian: python3-venv):\n{said}"
    );
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args([
        "-I",
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--",
    ]);
    let (done, said) = run(pip.args(packages), INSTALL).await;
    assert!(done, "{packages:?} cannot be installed:\n{said}");
}
