//! The official inspector's command line, against `mcp-tools serve`'s environments.

use std::time::Duration;

use serde_json::Value;

use crate::{evaluator::Evaluator, node::Node, program::output};

const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
const SCRIPT: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// What it prints, which is JSON.
async fn inspected(url: &str, token: &str, arguments: &[&str]) -> Value {
    let node = Node::with(INSPECTOR).await;
    // It keeps a list of servers below the home folder.
    let home = tempfile::tempdir().unwrap();
    let mut inspector = node.command(SCRIPT);
    inspector.env("HOME", home.path());
    let authorization = format!("Authorization: Bearer {token}");
    inspector.args([
        "--cli",
        url,
        "--transport",
        "http",
        "--header",
        &authorization,
    ]);
    let limit = Duration::from_secs(60);
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
    let search = [
        "search",
        "--tool-arg",
        "query=red mug",
        "--tool-arg",
        "page=1",
    ];
    let found = inspected(url, token, &[&call[..], &search].concat()).await;
    assert_eq!(found["structuredContent"]["found"], 3);
    let submitted = inspected(url, token, &[&call[..], &["submit"]].concat()).await;
    assert_ne!(submitted["isError"], true);
    assert!(
        evaluator
            .episodes
            .outcome(&opened.id)
            .await
            .unwrap()
            .submitted()
    );
}
