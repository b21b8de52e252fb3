//! An agent with a custom tool next to the standard ones: `cargo run --example own_tool`.

use std::sync::Arc;

use mcp_tools::{
    async_trait,
    context::{AgentContext, Settings},
    jiff::Timestamp,
    rmcp::{
        self,
        model::{CallToolResult, JsonObject},
    },
    tools::{self, Tool},
};
use serde_json::json;

/// Returns the time since the first message arrived.
struct MessageAge;

#[async_trait]
impl Tool for MessageAge {
    fn describe(&self) -> rmcp::model::Tool {
        let schema: JsonObject = [("type".to_owned(), json!("object"))].into_iter().collect();
        let description = "Say how many seconds ago the first message came.";
        rmcp::model::Tool::new("message_age", description, schema)
    }

    async fn call(&self, context: &AgentContext, _arguments: JsonObject) -> CallToolResult {
        let messages = context.incoming_messages().history();
        let first = messages.first().map(|first| first.received_at);
        let seconds = first.map(|first| context.now().duration_since(first).as_secs());
        CallToolResult::structured(json!({ "seconds": seconds }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let context = AgentContext::new(Settings::default());
    let message = json!({"messageId": "m1", "parts": [{"text": "Buy a lamp."}]});
    context.incoming_messages().receive("green", message, Timestamp::now());

    let mut all = tools::standard();
    all.push(Arc::new(MessageAge));
    for name in ["list_messages", "message_age"] {
        let tool = all.iter().find(|tool| tool.describe().name == name);
        let Some(tool) = tool else { continue };
        let result = tool.call(&context, JsonObject::new()).await;
        println!("{name}: {}", result.structured_content.unwrap_or_default());
    }
}
