//! Python environments for the programs that are not ours, each made once.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{kept, program::run};

/// How long one installation may take.
const INSTALL: Duration = Duration::from_secs(300);

/// The A2A SDK of 1.0, with what its clients and servers in `tests/interop` need.
pub(crate) const A2A_SDK_1_0: [&str; 3] = [
    "a2a-sdk[grpc,http-server,signing]==1.3.0",
    "grpcio-health-checking==1.85.1",
    "uvicorn==0.54.0",
];

/// The same of 0.3.
pub(crate) const A2A_SDK_0_3: [&str; 2] = ["a2a-sdk[http-server]==0.3.26", "uvicorn==0.54.0"];

/// A folder with these packages in it.
pub(crate) async fn with(packages: &[&str]) -> PathBuf {
    kept::folder("interop-venvs", packages, fill).await
}

async fn fill(folder: &Path, packages: &[&str]) {
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
