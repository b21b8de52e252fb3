//! An agent's connection, in each generation of the protocol.

use mcp_tools::{
    allow_list::AllowList,
    client::{ConnectError, Connection, Lifecycle, Options},
    connection::ConnectionDetails,
    secret::Secret,
};
use rmcp::model::CallToolResult;
use serde_json::Value;

/// The generation with sessions, and the one without.
pub(crate) const ERAS: [Lifecycle; 2] = [Lifecycle::Initialize, Lifecycle::Discover];

pub(crate) async fn connect(
    url: &str,
    token: &Secret,
    lifecycle: Lifecycle,
) -> Result<Connection, ConnectError> {
    let details = ConnectionDetails::http("environment", url.parse().unwrap()).with_bearer(token);
    let options = Options { lifecycle, ..Options::default() };
    Connection::open(&details, &AllowList::default(), &options).await
}

/// Calls a tool with a JSON object as its arguments.
pub(crate) async fn call(agent: &Connection, tool: &str, arguments: &Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    agent.call(tool, arguments).await.unwrap()
}

/// Returns the result of a call, which must succeed, as data.
pub(crate) async fn shown(agent: &Connection, tool: &str, arguments: &Value) -> Value {
    let result = call(agent, tool, arguments).await;
    assert_eq!(result.is_error, Some(false), "{tool}: {result:?}");
    result.structured_content.unwrap_or_default()
}
