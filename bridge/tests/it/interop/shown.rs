//! Clients that show answers to people or to models: each answer stands in what they show once, wherever they look
//! for it.

use tokio::process::Command;

use super::{LIMIT, converse, interop, serve};
use crate::{node, program::run, venv};

#[tokio::test]
async fn google_adk_shows_each_answer_once() {
    converse("google_adk.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn microsoft_s_agent_framework_shows_each_answer_once() {
    converse("microsoft_agent_framework.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn langchain_s_remote_agent_shows_each_answer_once() {
    converse("langchain_remote.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn command_lines_show_each_answer_once() {
    converse("command_lines.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn a2a_bridge_shows_each_answer_once() {
    converse("chat_completions.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn strands_shows_each_answer_once() {
    converse("strands_agent.py", &venv::STRANDS).await;
}

#[tokio::test]
async fn a2a_ai_provider_shows_each_answer_once() {
    let modules = node::with(&node::AI_PROVIDER).await;
    let bridge = serve();
    let mut client = Command::new("node");
    client
        .env("NODE_PATH", &modules)
        .arg(interop("a2a_ai_provider.mjs"))
        .arg(bridge.url());
    let (passed, said) = run(&mut client, LIMIT).await;
    assert!(passed, "it does not show each answer once:\n{said}");
}
