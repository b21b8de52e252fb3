//! Clients that show answers to people or to models: each answer stands in what they show once, wherever they look
//! for it.

use tokio::process::Command;

use super::{LIMIT, interop};
use crate::{
    node,
    program::{Bridge, run},
    venv,
};

#[tokio::test]
async fn google_adk_shows_each_answer_once() {
    python("google_adk.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn microsoft_s_agent_framework_shows_each_answer_once() {
    python("microsoft_agent_framework.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn langchain_s_remote_agent_shows_each_answer_once() {
    python("langchain_remote.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn command_lines_show_each_answer_once() {
    python("command_lines.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn a2a_bridge_shows_each_answer_once() {
    python("chat_completions.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn strands_shows_each_answer_once() {
    python("strands_agent.py", &venv::STRANDS).await;
}

#[tokio::test]
async fn a2a_ai_provider_shows_each_answer_once() {
    let modules = node::with(&node::AI_PROVIDER).await;
    let mut client = Command::new("node");
    client
        .env("NODE_PATH", &modules)
        .arg(interop("a2a_ai_provider.mjs"));
    show(client).await;
}

async fn python(client: &str, packages: &[&str]) {
    let mut command = Command::new(venv::with(packages).await.join("bin/python"));
    command.arg("-B").arg(interop(client));
    show(command).await;
}

/// Lets a client talk to a bridge whose card is as it is by default; its checks are this test's.
async fn show(mut client: Command) {
    let bridge = Bridge::serve(&["--store", "memory", "--builtin", "sample"]);
    let (passed, said) = run(client.arg(bridge.url()), LIMIT).await;
    assert!(passed, "it does not show each answer once:\n{said}");
}
