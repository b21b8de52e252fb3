//! The tools that an agent has of its own, before it is connected to any server: one a file.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject};

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
    Vec::new()
}
