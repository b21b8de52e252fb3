//! The official inspector's command line as a client of `mcp-tools serve`.

use std::{sync::Arc, time::Duration};

use bridge::{bot, host::Host, store::MemoryStore};
use serde_json::{Value, json};
use tokio::{net::TcpListener, process::Command};

use crate::{
    evaluator::Evaluator,
    node::Node,
    program::{Listening, mcp_tools, output},
    venv,
};

const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
const SCRIPT: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// Returns the inspector's output, which is JSON.
async fn inspected(url: &str, token: &str, arguments: &[&str]) -> Value {
    let node = Node::with(INSPECTOR).await;
    // The inspector stores a list of servers in the home folder.
    let home = tempfile::tempdir().unwrap();
    let mut inspector = node.command(SCRIPT);
    inspector.env("HOME", home.path());
    let authorization = format!("Authorization: Bearer {token}");
    inspector.args(["--cli", url, "--transport", "http", "--header", &authorization]);
    let limit = Duration::from_secs(120);
    let (code, said, errors) = output(inspector.args(arguments), limit).await;
    assert_eq!(code, Some(0), "{said}{errors}");
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
}

#[tokio::test]
async fn the_inspector_lists_and_calls_tools() {
    let evaluator = Evaluator::start().await;
    let opened = evaluator.open("shop", 3);
    let (url, token) = (&evaluator.url, opened.token.expose());
    let listed = inspected(url, token, &["--method", "tools/list"]).await;
    assert_eq!(listed["tools"][1]["name"], "search");

    let call = ["--method", "tools/call", "--tool-name"];
    let search = ["search", "--tool-arg", "query=red mug", "--tool-arg", "page=1"];
    let found = inspected(url, token, &[&call[..], &search].concat()).await;
    assert_eq!(found["structuredContent"]["found"], 3);
    let submitted = inspected(url, token, &[&call[..], &["submit"]].concat()).await;
    assert_ne!(submitted["isError"], true);
    assert!(evaluator.episodes.outcome(&opened.id).await.unwrap().submitted());
}

#[tokio::test]
async fn the_inspector_calls_the_tools_for_agents() {
    let sites = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let index = "[[sites]]\nurl = 'https://club.example'\ntitle = 'The Club'\n";
    std::fs::write(sites.path(), index).unwrap();
    let arguments = ["serve", "--tools", "a2a,web-search", "--allow-private", "--sites"];
    let path = sites.path().to_str().unwrap();
    let mut served = mcp_tools(&[&arguments[..], &[path]].concat());
    let served = Listening::start(served.env("MCP_TOKEN", "t-0123456789")).await;
    let url = format!("{}/mcp", served.url);
    let listed = inspected(&url, "t-0123456789", &["--method", "tools/list"]).await;
    let names: Vec<_> =
        listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["discover_a2a_agent_capabilities", "invoke_a2a_agent_skill", "web_search"]);

    let call = ["--method", "tools/call", "--tool-name"];
    let search = ["web_search", "--tool-arg", "query=the club"];
    let found = inspected(&url, "t-0123456789", &[&call[..], &search].concat()).await;
    assert_eq!(found["structuredContent"]["results"][0]["url"], "https://club.example");
    // The server itself serves as a site without an agent.
    let target = format!("target_url={}", served.url);
    let discover = ["discover_a2a_agent_capabilities", "--tool-arg", &target];
    let found = inspected(&url, "t-0123456789", &[&call[..], &discover].concat()).await;
    assert_eq!(found["structuredContent"]["status"], "not_found");
    let request = json!({"task_base_url": served.url, "contextual_query_text": "hello"});
    let request = format!("task_request_object={request}");
    let invoke = ["invoke_a2a_agent_skill", "--tool-arg", &request];
    let called = inspected(&url, "t-0123456789", &[&call[..], &invoke].concat()).await;
    assert_eq!(called["structuredContent"]["status"], "not_found");
}

/// Starts the bridge with its echo agent, in this process.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let store = Arc::new(MemoryStore::new());
    let agent = bot::builtin_agent("echo", store.clone()).unwrap();
    let app = Host::new(store, [agent]).router(&url).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Starts an agent that uses PyPI's a2a-sdk and echoes its input.
async fn a2a_sdk() -> Listening {
    let python = venv::with(&venv::A2A_SDK_1_0).await.join("bin/python");
    let program =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../bridge/tests/interop/servers/a2a_sdk_1_0.py");
    Listening::start(Command::new(python).arg(program)).await
}

/// Returns the result of a tool, which must succeed.
async fn answered(tools: &str, tool: &str, argument: &str) -> Value {
    let call = ["--method", "tools/call", "--tool-name", tool, "--tool-arg", argument];
    let result = inspected(tools, "t-0123456789", &call).await;
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

#[tokio::test]
async fn the_inspector_finds_and_calls_live_agents() {
    let mut served = mcp_tools(&["serve", "--tools", "a2a", "--allow-private"]);
    let served = Listening::start(served.env("MCP_TOKEN", "t-0123456789")).await;
    let tools = format!("{}/mcp", served.url);
    let (echo, sdk) = (echo().await, a2a_sdk().await);
    for (agent, name, status, said) in [
        // The echo agent never completes its task.
        (&echo, "echo", "input_required", "Echo: hello"),
        (&sdk.url, "a2a-sdk 1.3.0", "success", "You said: "),
    ] {
        let target = format!("target_url={agent}");
        let found = answered(&tools, "discover_a2a_agent_capabilities", &target).await;
        assert_eq!((&found["status"], &found["agent_name"]), (&json!("success"), &json!(name)));
        let request = json!({
            "task_base_url": found["tasking_base_url"], "contextual_query_text": "hello",
        });
        let request = format!("task_request_object={request}");
        let told = answered(&tools, "invoke_a2a_agent_skill", &request).await;
        assert_eq!(told["status"], status, "{told}");
        assert!(told.to_string().contains(said), "{told}");
    }
}
