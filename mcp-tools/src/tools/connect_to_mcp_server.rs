//! The tool `connect_to_mcp_server`.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{
    Tool, answer,
    candidates::{Candidate, candidates},
};
use crate::{
    arguments::{Arguments, changing, tool},
    client::Connection,
    connection::ConnectionDetails,
    context::AgentContext,
};

/// The largest number of connection attempts in one call.
const MAX_ATTEMPTS: usize = 16;

/// Connects to the MCP server that the agent received details of.
///
/// The tool tries details until a connection succeeds: first those that were set beforehand, then those in
/// `incoming_messages`. Within the messages the newest comes first, and within a message the last details that are
/// not marked as an example. Details that have expired, cannot be read or are not allowed are skipped. The result
/// reports the outcome of each attempt.
#[derive(Debug)]
pub struct ConnectToMcpServer;

#[async_trait]
impl Tool for ConnectToMcpServer {
    fn describe(&self) -> rmcp::model::Tool {
        let properties = json!({
            "server": {"type": "string", "description": "The name of the server, if messages describe several. If absent: the one described last."},
        });
        let description = "Connect to the MCP server of the evaluation. Finds the connection details in the \
            messages from the Green Agent by itself; there is no need to read or pass them. \
            Afterwards the server's tools can be called.";
        changing(tool("connect_to_mcp_server", description, properties, &[]))
    }

    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(connect(context, arguments).await)
    }
}

async fn connect(context: &AgentContext, arguments: JsonObject) -> Result<Value, String> {
    let server = Arguments::read_all(arguments, |given| given.optional::<String>("server"));
    let server = server.map_err(|error| error.to_string())?;
    let (mut passed_over, mut attempts) = (Vec::new(), 0);
    for candidate in candidates(context) {
        let shown = candidate.to_string();
        let details = match usable(context, server.as_deref(), &candidate) {
            Ok(details) => details,
            Err(reason) => {
                passed_over.push(format!("{shown}: {reason}"));
                continue;
            }
        };
        if attempts == MAX_ATTEMPTS {
            passed_over.push(format!("{shown}, and older ones: not tried after {attempts} others"));
            break;
        }
        attempts += 1;
        match opened(context, details).await {
            Ok((connection, tools)) => {
                return Ok(json!({
                    "connected": true,
                    "server": details.name,
                    "place": details.address(),
                    "source": candidate.source,
                    "protocol_version": connection.protocol_version(),
                    "episode_id": details.episode_id,
                    "expires_at": details.expires_at.map(|expiry| expiry.to_string()),
                    "tools": tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
                    "passed_over": passed_over,
                }));
            }
            Err(reason) => passed_over.push(format!("{shown}: {reason}")),
        }
    }
    Err(none(context, attempts, &passed_over))
}

/// Opens a connection and lists the tools of the server.
async fn opened(
    context: &AgentContext,
    details: &ConnectionDetails,
) -> Result<(Arc<Connection>, Vec<rmcp::model::Tool>), String> {
    let connection = context.connect(details).await;
    let connection = connection.map_err(|error| error.to_string())?;
    match connection.tools().await {
        Ok(tools) => Ok((connection, tools)),
        Err(error) => {
            context.disconnect().await;
            Err(error.to_string())
        }
    }
}

fn usable<'a>(
    context: &AgentContext,
    server: Option<&str>,
    candidate: &'a Candidate,
) -> Result<&'a ConnectionDetails, String> {
    let details = candidate.details.as_ref();
    let details = details.map_err(|error| error.to_string())?;
    if server.is_some_and(|wanted| wanted != details.name) {
        return Err(format!("the details are of server {:?}", details.name));
    }
    if let Some(expiry) = details.expires_at.filter(|_| details.has_expired(context.now())) {
        // A wrong clock is not suspected otherwise.
        let now = context.now();
        return Err(format!("the details expired at {expiry}, and it is {now} by the clock here"));
    }
    context.allowed().check(details).map_err(|refused| refused.to_string())?;
    Ok(details)
}

fn none(context: &AgentContext, attempts: usize, passed_over: &[String]) -> String {
    if passed_over.is_empty() {
        let count = context.incoming_messages().history().len();
        return format!(
            "no MCP connection details: none were set, and none of {count} incoming messages has any; \
             wait for a message that has"
        );
    }
    let reasons = passed_over.join("; ");
    match attempts {
        0 => format!("no MCP connection details that can be used, ask for new ones; {reasons}"),
        _tried => {
            format!("no MCP connection details led to a connection, ask for new ones; {reasons}")
        }
    }
}
