//! npm packages for external programs, each set installed once.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{kept, program::run};

/// The time limit of one installation.
const INSTALL: Duration = Duration::from_secs(900);

/// The time limit of Node's version command.
const VERSION: Duration = Duration::from_secs(120);

/// The least that the packages run on.
const LEAST: u32 = 20;

/// The A2A SDK with what its transports need.
pub(crate) const A2A_JS_SDK: [&str; 4] =
    ["@a2a-js/sdk@1.3.0", "express@5.2.1", "@grpc/grpc-js@1.14.7", "@bufbuild/protobuf@2.17.0"];

/// A client that shows A2A agents as models, with the package that uses it.
pub(crate) const AI_PROVIDER: [&str; 2] = ["a2a-ai-provider@0.5.0-alpha.1", "ai@6.0.326"];

/// Google ADK, whose remote agents show answers.
pub(crate) const GOOGLE_ADK: [&str; 1] = ["@google/adk@2.0.0"];

/// Strands, whose remote agents show answers, and whose agents are servers, on the SDK that it wants.
pub(crate) const STRANDS: [&str; 3] =
    ["@strands-agents/sdk@1.19.0", "@a2a-js/sdk@0.3.14", "express@5.2.1"];

/// Agents of VoltAgent as servers.
pub(crate) const VOLTAGENT: [&str; 4] = [
    "@voltagent/a2a-server@2.0.3",
    "@voltagent/core@2.10.0",
    "@voltagent/server-hono@2.0.14",
    "ai@6.0.326",
];

/// Clients of server-sent events.
pub(crate) const EVENT_SOURCES: [&str; 2] =
    ["eventsource@4.1.1", "@microsoft/fetch-event-source@2.0.1"];

/// Returns the folder with these packages in it, for `NODE_PATH`; there is a Node that runs them.
pub(crate) async fn with(packages: &[&str]) -> PathBuf {
    let version = version().await;
    assert!(
        version.is_some_and(|major| major >= LEAST),
        "node {LEAST} or newer with npm is needed for these tests, found {version:?} \
        (Debian: nodejs, npm)"
    );
    let folder = kept::folder("node-packages", packages, fill).await;
    folder.join("node_modules")
}

async fn version() -> Option<u32> {
    let (_, said) = run(Command::new("node").arg("--version"), VERSION).await;
    said.strip_prefix('v')?.split('.').next()?.parse().ok()
}

async fn fill(folder: &Path, packages: &[&str]) {
    let mut npm = Command::new("npm");
    // Install scripts of packages are not run, because one of them needs the network.
    npm.args([
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--loglevel=error",
        "--prefix",
    ]);
    let (done, said) = run(npm.arg(folder).args(packages), INSTALL).await;
    assert!(done, "npm is needed for these tests, and cannot install {packages:?}:\n{said}");
}
