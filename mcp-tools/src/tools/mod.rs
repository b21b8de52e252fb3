//! The tools that an agent has of its own, before it is connected to any server: one a file.
//!
//! - [`standard`]: those of every agent under evaluation
//! - [`a2a`]: those that find other agents and call them
//! - [`WebSearch`]: finds sites
//!
//! Their results are shown to language models, which are run by others: secrets in messages are masked.

mod acknowledge_messages;
mod candidates;
mod connect_to_mcp_server;
mod discover_a2a_agent_capabilities;
mod invoke_a2a_agent_skill;
mod list_messages;
mod message_history;
mod shown;
mod web_search;

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

pub use acknowledge_messages::AcknowledgeMessages;
pub use connect_to_mcp_server::ConnectToMcpServer;
pub use discover_a2a_agent_capabilities::DiscoverA2aAgentCapabilities;
pub use invoke_a2a_agent_skill::InvokeA2aAgentSkill;
pub use list_messages::ListMessages;
pub use message_history::MessageHistory;
pub use web_search::WebSearch;

use crate::{agents::Agents, arguments::refused, context::AgentContext};

/// Something an agent can do by itself.
///
/// Whoever writes an agent adds tools of their own by implementing it.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Its name, what it is for, and the JSON Schema of its arguments.
    fn describe(&self) -> rmcp::model::Tool;

    /// Does it. What goes wrong is a result with `is_error` that says what was expected.
    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult;
}

/// The tools that every agent under evaluation has.
pub fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ConnectToMcpServer),
        Arc::new(ListMessages),
        Arc::new(MessageHistory),
        Arc::new(AcknowledgeMessages),
    ]
}

/// The tools that find other agents and call them; what one has found the other knows.
pub fn a2a(agents: Agents) -> Vec<Arc<dyn Tool>> {
    let agents = Arc::new(agents);
    vec![
        Arc::new(DiscoverA2aAgentCapabilities::new(agents.clone())),
        Arc::new(InvokeA2aAgentSkill::new(agents)),
    ]
}

/// The same tool with a result that has one of these statuses.
fn answering(mut tool: rmcp::model::Tool, statuses: &[&str]) -> rmcp::model::Tool {
    let schema = [
        ("type".to_owned(), json!("object")),
        (
            "properties".to_owned(),
            json!({"status": {"enum": statuses}}),
        ),
        ("required".to_owned(), json!(["status"])),
    ];
    tool.output_schema = Some(Arc::new(schema.into_iter().collect()));
    tool
}

/// A result that says itself how it went: one of the status `error` is an error for MCP too.
fn with_status(result: Value) -> CallToolResult {
    match result["status"] == ERROR {
        true => CallToolResult::structured_error(result),
        false => CallToolResult::structured(result),
    }
}

/// The statuses that the tools for agents have in common.
const SUCCESS: &str = "success";
const NOT_FOUND: &str = "not_found";
const ERROR: &str = "error";

/// A result without success: the reason in words.
fn without_success(status: &str, reason: impl std::fmt::Display) -> Value {
    json!({"status": status, "error": reason.to_string()})
}

/// A result, or in words what went wrong.
fn answer(result: Result<Value, String>) -> CallToolResult {
    match result {
        Ok(value) => CallToolResult::structured(value),
        Err(reason) => refused(reason),
    }
}
