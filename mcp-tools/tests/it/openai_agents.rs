//! The OpenAI Agents SDK has an agent carry out a task that takes longer than its MCP client waits.

use std::{sync::Arc, time::Duration};

use bridge::{bot, host::Host, store::MemoryStore};
use serde_json::{Value, json};
use tokio::{net::TcpListener, process::Command};

use crate::{
    program::{Listening, mcp_tools, output},
    venv,
};

const PACKAGES: [&str; 1] = ["openai-agents==0.24.0"];

const TOKEN: &str = "t-0123456789";

/// Starts the bridge with its sample agent, in this process.
async fn sample() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let store = Arc::new(MemoryStore::new());
    let agent = bot::builtin_agent("sample", store.clone()).unwrap();
    let app = Host::new(store, [agent]).router(&url).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// The tools answer sooner than the agent can, so that the framework does what it does with slow agents.
#[tokio::test]
async fn the_openai_agents_sdk_waits_for_an_agent_call_by_call() {
    let python = venv::with(&PACKAGES).await.join("bin/python");
    let within = ["--answer-within", "1us"];
    let mut tools =
        mcp_tools(&[&["serve", "--tools", "a2a", "--allow-private"], &within[..]].concat());
    let tools = Listening::start(tools.env("MCP_TOKEN", TOKEN)).await;
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frameworks/openai_agents.py");
    let agent = sample().await;
    let mut personal = Command::new(python);
    personal.args([program, &format!("{}/mcp", tools.url), &agent]);
    personal.env("MCP_TOKEN", TOKEN);
    let (code, said, errors) = output(&mut personal, Duration::from_secs(120)).await;
    assert_eq!(code, Some(0), "{said}{errors}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let expected = json!({"said": "You said: hello", "first": "working", "last": "success"});
    assert_eq!(said, expected);
}
