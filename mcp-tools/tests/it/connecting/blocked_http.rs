//! Tests of the client with a server on Node.js whose only thread is busy.

use futures_util::future::join;
use mcp_tools::connection::ConnectionDetails;
use url::Url;

use super::{arguments, open, short};
use crate::{node::Node, program::Listening};

const SDK: &str = "@modelcontextprotocol/sdk@1.32.2";

/// Node.js closes connections that have been silent for 5 s before it reads from them.
#[tokio::test]
async fn calls_that_wait_for_a_busy_server_are_answered() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frameworks/blocking_server.mjs");
    let server = Listening::start(&mut Node::with(SDK).await.run(script)).await;
    let url = Url::parse(&server.url).unwrap().join("/mcp").unwrap();
    let details = ConnectionDetails::http("blocking", url);
    let [busy, waiting] = [open(&details, &short()).await, open(&details, &short()).await];
    let call = |connection, tool| async move {
        let called: Result<_, _> =
            mcp_tools::client::Connection::call(connection, tool, arguments([])).await;
        assert!(called.is_ok(), "{called:?}");
    };
    for _ in 0..2 {
        join(call(&busy, "echo"), call(&waiting, "echo")).await;
        join(call(&busy, "block"), call(&waiting, "echo")).await;
    }
}
