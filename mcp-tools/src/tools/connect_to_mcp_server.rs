//! `connect_to_mcp_server`

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer};
use crate::{
    arguments::{Arguments, tool},
    client::Connection,
    connection::{self, ConnectionDetails, DetailsError},
    context::AgentContext,
};

/// Connects to the MCP server that the agent was told of.
///
/// Details that were set beforehand come first, then those in `incoming_messages`, the newest first. Those
/// that have expired, cannot be read or are not allowed are passed over and named in the result. The
/// first that are left are followed: if that fails, older ones are not, since newer ones replace them.
#[derive(Debug)]
pub struct ConnectToMcpServer;

/// Details, and where they were found.
struct Candidate {
    source: String,
    details: Result<ConnectionDetails, DetailsError>,
}

/// What was chosen, and in words what was passed over for it.
struct Choice {
    source: String,
    details: ConnectionDetails,
    passed_over: Vec<String>,
}

#[async_trait]
impl Tool for ConnectToMcpServer {
    fn describe(&self) -> rmcp::model::Tool {
        let properties = json!({
            "server": {"type": "string", "description": "The name of the server, where messages tell of several. The one told of last if left out."},
        });
        let description = "Connect to the MCP server of the evaluation. Finds the connection details in the \
            messages from the Green Agent by itself; there is no need to read or pass them. \
            Afterwards the server's tools can be called.";
        tool("connect_to_mcp_server", description, properties, &[])
    }

    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(connect(context, arguments).await)
    }
}

async fn connect(context: &AgentContext, arguments: JsonObject) -> Result<Value, String> {
    let server = server(arguments).map_err(|error| error.to_string())?;
    let choice = choose(context, server.as_deref())?;
    let connection = context.connect(&choice.details).await;
    let connection = connection.map_err(|error| choice.failed(&error.to_string()))?;
    match connection.tools().await {
        Ok(tools) => Ok(choice.connected(&connection, &tools)),
        Err(error) => {
            context.disconnect().await;
            Err(choice.failed(&error.to_string()))
        }
    }
}

fn server(arguments: JsonObject) -> Result<Option<String>, DetailsError> {
    let mut arguments = Arguments::new(arguments);
    let server = arguments.optional("server")?;
    arguments.done()?;
    Ok(server)
}

fn choose(context: &AgentContext, server: Option<&str>) -> Result<Choice, String> {
    let mut passed_over = Vec::new();
    for Candidate { source, details } in candidates(context) {
        match usable(context, server, details) {
            Ok(details) => {
                return Ok(Choice {
                    source,
                    details,
                    passed_over,
                });
            }
            Err(reason) => passed_over.push(format!("{source}: {reason}")),
        }
    }
    Err(none(context, &passed_over))
}

/// The best first.
fn candidates(context: &AgentContext) -> impl Iterator<Item = Candidate> {
    let preset = context.mcp_connection_details().map(|details| Candidate {
        source: "pre-set details".to_owned(),
        details: Ok(details),
    });
    let messages = context.incoming_messages().history().into_iter().rev();
    let told = messages.flat_map(|received| {
        let source = format!("message {}", received.number);
        let found = connection::find(&received.message).into_iter().rev();
        found.map(move |details| Candidate {
            source: source.clone(),
            details,
        })
    });
    preset.into_iter().chain(told)
}

fn usable(
    context: &AgentContext,
    server: Option<&str>,
    details: Result<ConnectionDetails, DetailsError>,
) -> Result<ConnectionDetails, String> {
    let details = details.map_err(|error| error.to_string())?;
    if server.is_some_and(|wanted| wanted != details.name) {
        return Err(format!("the details are of server {:?}", details.name));
    }
    if let Some(expiry) = details
        .expires_at
        .filter(|_| details.has_expired(context.now()))
    {
        return Err(format!("the details expired at {expiry}"));
    }
    context
        .allowed()
        .check(&details)
        .map_err(|refused| refused.to_string())?;
    Ok(details)
}

fn none(context: &AgentContext, passed_over: &[String]) -> String {
    if passed_over.is_empty() {
        let count = context.incoming_messages().history().len();
        return format!(
            "no MCP connection details: none were set, and none of {count} incoming messages has any; \
             wait for a message that has"
        );
    }
    let reasons = passed_over.join("; ");
    format!("no MCP connection details that can be used, ask for new ones; {reasons}")
}

impl Choice {
    fn failed(&self, reason: &str) -> String {
        format!(
            "the details of {} did not lead to a connection: {reason}",
            self.source
        )
    }

    fn connected(&self, connection: &Connection, tools: &[rmcp::model::Tool]) -> Value {
        let details = &self.details;
        json!({
            "connected": true,
            "server": details.name,
            "place": details.place(),
            "source": self.source,
            "protocol_version": connection.protocol_version(),
            "episode_id": details.episode_id,
            "expires_at": details.expires_at.map(|expiry| expiry.to_string()),
            "tools": tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "passed_over": self.passed_over,
        })
    }
}
