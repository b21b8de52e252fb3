//! An agent that is evaluated, in each era of the protocol.

use mcp_tools::{
    allowed::Allowed,
    client::{ConnectError, Connection, Lifecycle, Options},
    connection::ConnectionDetails,
    secret::Secret,
};
use rmcp::model::CallToolResult;
use serde_json::Value;

/// With sessions, and without.
pub(crate) const ERAS: [Lifecycle; 2] = [Lifecycle::Initialize, Lifecycle::Discover];

pub(crate) async fn connect(
    url: &str,
    token: &Secret,
    lifecycle: Lifecycle,
) -> Result<Connection, ConnectError> {
    let details = ConnectionDetails::http("environment", url.parse().unwrap()).with_bearer(token);
    let options = Options {
        lifecycle,
        ..Options::default()
    };
    Connection::open(&details, &Allowed::default(), &options).await
}

/// Calls a tool with an object of arguments.
pub(crate) async fn call(agent: &Connection, tool: &str, arguments: &Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    agent.call(tool, arguments).await.unwrap()
}

/// What a call shows; it must not be an error.
pub(crate) async fn shown(agent: &Connection, tool: &str, arguments: &Value) -> Value {
    let result = call(agent, tool, arguments).await;
    assert_eq!(result.is_error, Some(false), "{tool}: {result:?}");
    result.structured_content.unwrap_or_default()
}
