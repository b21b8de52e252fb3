//! The tools that an agent has of its own, before it is connected to any server: one a file.
//!
//! Their results are shown to language models, which are run by others: secrets in messages are masked.

mod acknowledge_messages;
mod arguments;
mod connect_to_mcp_server;
mod list_messages;
mod message_history;
mod shown;

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

pub use acknowledge_messages::AcknowledgeMessages;
pub use connect_to_mcp_server::ConnectToMcpServer;
pub use list_messages::ListMessages;
pub use message_history::MessageHistory;

use crate::context::AgentContext;

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

/// A tool whose arguments are these properties, none of them required.
fn described(
    name: &'static str,
    description: &'static str,
    properties: &Value,
) -> rmcp::model::Tool {
    let schema = [
        ("type", json!("object")),
        ("properties", properties.clone()),
        ("additionalProperties", json!(false)),
    ];
    let schema: JsonObject = schema
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect();
    rmcp::model::Tool::new(name, description, schema)
}

/// A result, or in words what went wrong.
fn answer(result: Result<Value, String>) -> CallToolResult {
    match result {
        Ok(value) => CallToolResult::structured(value),
        Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
    }
}
