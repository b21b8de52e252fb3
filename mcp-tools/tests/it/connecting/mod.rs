//! Tests of the client with real servers: over HTTP in both generations, and as programs.

mod blocked_http;
mod by_tool;
mod http;
mod old_http;
mod relayed;
mod stdio;
mod troubled_http;

use std::time::Duration;

use mcp_tools::{
    allow_list::AllowList,
    client::{Connection, Lifecycle, Limits, Options},
    connection::ConnectionDetails,
};
use rmcp::model::JsonObject;
use serde_json::json;

/// Returns options with short time limits.
pub(crate) fn short() -> Options {
    Options {
        lifecycle: Lifecycle::Either,
        limits: Limits {
            connect: Duration::from_secs(60),
            start: Duration::from_secs(60),
            call: Duration::from_secs(60),
            close: Duration::from_secs(5),
            result: 4096,
            tools: 10,
        },
    }
}

/// Returns options with a short time limit for calls, in which a call that does not hang is answered on a busy machine, too.
fn impatient() -> Options {
    let mut options = short();
    options.limits.call = Duration::from_secs(2);
    options
}

async fn open(details: &ConnectionDetails, options: &Options) -> Connection {
    let opened = Connection::open(details, &allowed(), options).await;
    opened.unwrap_or_else(|error| panic!("{error}"))
}

/// Allows everything that these tests start.
fn allowed() -> AllowList {
    let stranger = crate::examples::example("stranger");
    let commands = [stranger.to_str().unwrap(), "cat", "false", "no-such-program", "sh"];
    AllowList { commands: commands.map(str::to_owned).into(), ..AllowList::default() }
}

fn arguments<const N: usize>(members: [(&str, serde_json::Value); N]) -> JsonObject {
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Checks the behaviour of a correct server, over any transport.
async fn works(connection: &Connection) {
    let tools = connection.tools().await.unwrap();
    assert_eq!(tools[0].name, "echo");
    let said = tools[0].description.as_deref();
    assert_eq!(said, Some(crate::stranger::ORDERS), "descriptions are data, passed on as they are");
    let sent = arguments([("a", json!([1, "é"]))]);
    let result = connection.call("echo", sent.clone()).await.unwrap();
    assert_eq!(result.structured_content, Some(json!(sent)));
}

/// Returns the text of an expected error.
fn said<T>(result: Result<T, impl std::fmt::Display>) -> String {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(error) => error.to_string(),
    }
}

/// Waits until a condition holds; fails the test at the time limit.
async fn eventually(what: &str, mut look: impl FnMut() -> bool) {
    let limit = std::time::Instant::now() + Duration::from_secs(60);
    while !look() {
        assert!(std::time::Instant::now() < limit, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
