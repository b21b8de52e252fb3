//! Python environments for the programs that are not ours, each made once.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{kept, running::run};

/// The time limit of one installation.
const INSTALL: Duration = Duration::from_secs(900);

/// The A2A SDK of 1.0, with what its clients and servers in `tests/interop` need.
pub(crate) const A2A_SDK_1_0: [&str; 3] = [
    "a2a-sdk[grpc,http-server,signing]==1.3.0",
    "grpcio-health-checking==1.85.1",
    "uvicorn==0.54.0",
];

/// The same of 0.3.
pub(crate) const A2A_SDK_0_3: [&str; 2] = ["a2a-sdk[grpc,http-server]==0.3.26", "uvicorn==0.54.0"];

/// The A2A SDK of 1.0 with the SDK of OpenTelemetry.
pub(crate) const TRACED: [&str; 4] = [
    "a2a-sdk[http-server]==1.3.0",
    "opentelemetry-exporter-otlp-proto-http==1.45.2",
    "opentelemetry-instrumentation-asgi==0.66b2",
    "uvicorn==0.54.0",
];

/// Clients that show answers, as far as their requirements agree.
pub(crate) const SHOWING: [&str; 6] = [
    "a2a-bridge==0.2.0",
    "a2a-handler==0.4.0",
    "agent-framework-a2a==1.0.0b261022",
    "conductor-a2a-cli==0.1.1",
    "google-adk[a2a]==2.13.0",
    "langchain-remote-a2a-agent==1.0.0",
];

/// A package that needs an older SDK.
pub(crate) const STRANDS: [&str; 1] = ["strands-agents[a2a]==1.62.0"];

/// Like [`STRANDS`]. Its other requirements disagree with those of all other packages.
pub(crate) const BEEAI: [&str; 1] = ["beeai-framework[a2a]==0.1.85"];
/// Like [`BEEAI`].
pub(crate) const NAT: [&str; 1] = ["nvidia-nat-a2a==1.9.0"];

/// AG2, as a client and as servers.
pub(crate) const AG2: [&str; 3] =
    ["a2a-sdk[http-server]==1.3.0", "ag2[a2a]==1.2.1", "uvicorn==0.54.0"];

/// Hybro's hub, which sends messages to agents on its machine.
pub(crate) const HYBRO: [&str; 1] = ["hybro-hub==0.2.0"];
/// A proxy between agents.
pub(crate) const MESH: [&str; 1] = ["bastionmesh==0.2.0"];

/// CrewAI, as a client and as servers. It takes a gigabyte, so only runs that want large packages install it.
pub(crate) const CREWAI: [&str; 2] = ["crewai[a2a]==1.15.30", "uvicorn==0.54.0"];

/// Returns whether the tests are asked for that take long to be installed: `BRIDGE_LARGE=1`.
pub(crate) fn is_large_wanted() -> bool {
    std::env::var("BRIDGE_LARGE").is_ok_and(|value| value == "1")
}

/// Graphs of LangGraph as servers.
pub(crate) const LANGGRAPH: [&str; 2] = ["langgraph-api==0.16.7", "langgraph-cli[inmem]==0.4.40"];

/// Agents of Pydantic AI as servers.
pub(crate) const FASTA2A: [&str; 3] =
    ["fasta2a==2.1.1", "pydantic-ai-slim==2.68.0", "uvicorn==0.54.0"];

/// Agents of agno as servers; agno does not require the SDK.
pub(crate) const AGNO: [&str; 3] =
    ["a2a-sdk[http-server]==0.3.26", "agno[os]==3.1.10", "uvicorn==0.54.0"];

/// Agents of a2akit as servers.
pub(crate) const A2AKIT: [&str; 3] = ["a2a-sdk==0.3.26", "a2akit==0.0.32", "uvicorn==0.54.0"];

/// Returns a folder with these packages in it.
pub(crate) async fn with(packages: &[&str]) -> PathBuf {
    kept::folder("interop-venvs", packages, fill).await
}

async fn fill(folder: &Path, packages: &[&str]) {
    if by_uv(folder, packages).await {
        return;
    }
    let mut venv = Command::new("python3");
    let venv = venv.args(["-I", "-m", "venv", "--clear"]).arg(folder);
    let (done, said) = run(venv, INSTALL).await;
    assert!(done, "python3 with venv is needed for these tests (Debian: python3-venv):\n{said}");
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-I", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--"]);
    let (done, said) = run(pip.args(packages), INSTALL).await;
    assert!(done, "{packages:?} cannot be installed:\n{said}");
}

/// Installs with uv, which needs a tenth of pip's time. Returns false if it is not there, or needs settings that pip has.
async fn by_uv(folder: &Path, packages: &[&str]) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&folders).any(|folder| folder.join("uv").is_file()) {
        return false;
    }
    let mut venv = Command::new("python3");
    let venv = venv.args(["-I", "-m", "venv", "--without-pip"]).arg(folder);
    let mut uv = Command::new("uv");
    let uv = uv.args(["pip", "install", "-q", "--python"]);
    let uv = uv.arg(folder.join("bin/python")).arg("--").args(packages);
    run(venv, INSTALL).await.0 && run(uv, INSTALL).await.0
}
