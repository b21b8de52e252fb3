//! Python with packages, each set installed once and kept below `target/`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{kept, program::run};

/// How long one installation may take.
const INSTALL: Duration = Duration::from_secs(300);

/// The Python that has these packages.
pub(crate) async fn with(packages: &[&str]) -> PathBuf {
    let folder = kept::folder("interop-venvs", packages, fill).await;
    folder.join("bin/python")
}

async fn fill(folder: &Path, packages: &[&str]) {
    let mut venv = Command::new("python3");
    let (done, said) = run(venv.args(["-I", "-m", "venv"]).arg(folder), INSTALL).await;
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
