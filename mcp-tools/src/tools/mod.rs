//! The agent's own tools, one per file. They are available before the agent is connected to any server.
//!
//! - [`standard`]: the tools of every agent under evaluation
//! - [`a2a`]: the tools that find and call other agents
//! - [`WebSearch`]: finds sites
//!
//! Results are sent to language models, which others operate: therefore secrets in messages are masked.

mod acknowledge_messages;
mod candidates;
mod connect_to_mcp_server;
mod discover_a2a_agent_capabilities;
mod format;
mod invoke_a2a_agent_skill;
mod list_messages;
mod message_history;
mod pending_calls;
mod web_search;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject, object};
use serde_json::{Value, json};

pub use acknowledge_messages::AcknowledgeMessages;
pub use connect_to_mcp_server::ConnectToMcpServer;
pub use discover_a2a_agent_capabilities::DiscoverA2aAgentCapabilities;
pub use invoke_a2a_agent_skill::{ANSWER_WITHIN, InvokeA2aAgentSkill};
pub use list_messages::ListMessages;
pub use message_history::MessageHistory;
pub use web_search::WebSearch;

use crate::{
    agents::{Agents, CallError},
    arguments::refused,
    context::AgentContext,
};

/// A tool that the agent executes itself.
///
/// Implement this trait to add a tool to an agent.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the tool's name, its description and the JSON Schema of its arguments.
    fn describe(&self) -> rmcp::model::Tool;

    /// Executes the tool. A failure is a result with `is_error` that says what was expected. A panic is such a result for
    /// the callers of a `ToolServer`; it fails the task of a hosted agent.
    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult;
}

/// Returns the tools of every agent under evaluation.
pub fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ConnectToMcpServer),
        Arc::new(ListMessages),
        Arc::new(MessageHistory),
        Arc::new(AcknowledgeMessages),
    ]
}

/// Returns the tools that find and call other agents; they share their cache of cards. A call or a look-up that takes longer
/// than `answer_within` goes on, and the tool is called again for its result.
pub fn a2a(agents: Agents, answer_within: Duration) -> Vec<Arc<dyn Tool>> {
    let agents = Arc::new(agents);
    vec![
        Arc::new(DiscoverA2aAgentCapabilities::new(agents.clone(), answer_within)),
        Arc::new(InvokeA2aAgentSkill::new(agents, answer_within)),
    ]
}

/// Adds an output schema to a tool: an object with one of these statuses.
fn with_status_schema(mut tool: rmcp::model::Tool, statuses: &[&str]) -> rmcp::model::Tool {
    let properties = json!({"status": {"enum": statuses}});
    let schema = json!({"type": "object", "properties": properties, "required": ["status"]});
    tool.output_schema = Some(Arc::new(object(schema)));
    tool
}

/// Converts a result that has a `status`; with the status `error` it is an error for MCP too.
fn with_status(result: Value) -> CallToolResult {
    match result["status"] == ERROR {
        true => CallToolResult::structured_error(result),
        false => CallToolResult::structured(result),
    }
}

/// The statuses that the tools for agents share.
const SUCCESS: &str = "success";
const NOT_FOUND: &str = "not_found";
const ERROR: &str = "error";
/// The status of a call that goes on.
const WORKING: &str = "working";
/// The status of a task that waits for credentials.
const AUTH_REQUIRED: &str = "auth_required";

/// Returns a result with a status other than success and the reason.
fn without_success(status: &str, reason: impl std::fmt::Display) -> Value {
    json!({"status": status, "error": reason.to_string()})
}

/// Returns the result for an agent that was not found or could not be called, or that needs a credential which the operator
/// has not given.
fn not_called(error: &CallError) -> Value {
    match error {
        CallError::Discovery(found) if found.is_not_found() => without_success(NOT_FOUND, found),
        error if error.wants_credentials() => {
            json!({"status": AUTH_REQUIRED, "text": error.to_string()})
        }
        error => without_success(ERROR, error),
    }
}

/// Converts a result or an error message.
fn answer(result: Result<Value, impl std::fmt::Display>) -> CallToolResult {
    match result {
        Ok(value) => CallToolResult::structured(value),
        Err(reason) => refused(reason),
    }
}
