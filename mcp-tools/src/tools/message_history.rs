//! The tool `message_history`.

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer, format};
use crate::{
    arguments::{Arguments, tool},
    context::AgentContext,
};

/// The largest number of messages in one answer, which is also the default.
const MAX_MESSAGES: usize = 20;

/// Shows whole messages, by default the newest.
#[derive(Debug)]
pub struct MessageHistory;

#[async_trait]
impl Tool for MessageHistory {
    fn describe(&self) -> rmcp::model::Tool {
        let properties = json!({
            "before": {"type": "integer", "minimum": 0, "description": "Only messages with a smaller number."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_MESSAGES, "description": "The number of messages; the newest are returned."},
        });
        let description = "Read the communication with the Green Agent so far: whole messages, oldest first. \
            Secrets in them are masked; connect_to_mcp_server knows them.";
        tool("message_history", description, properties, &[])
    }

    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        let mut images = Vec::new();
        let range = requested_range(arguments);
        let history = range.map(|(before, limit)| history(context, before, limit, &mut images));
        let mut result = answer(history);
        result.content.append(&mut images);
        result
    }
}

/// Reads the number before which messages are shown, and how many.
fn requested_range(arguments: JsonObject) -> Result<(u64, usize), FieldError> {
    Arguments::read_all(arguments, |given| {
        let before = given.optional("before")?.unwrap_or(u64::MAX);
        Ok((before, given.limit(MAX_MESSAGES, MAX_MESSAGES)?))
    })
}

/// Returns the newest messages before a number; adds their images to `images`.
fn history(
    context: &AgentContext,
    before: u64,
    limit: usize,
    images: &mut Vec<ContentBlock>,
) -> Value {
    let inbox = context.incoming_messages();
    let mut messages = inbox.history();
    messages.retain(|received| received.number < before);
    let earlier = messages.len().saturating_sub(limit);
    let secrets = format::secrets(context);
    let newest = messages[earlier..].iter();
    let newest: Vec<Value> = newest.map(|one| format::whole(one, &secrets, images)).collect();
    json!({ "messages": newest, "earlier": earlier, "dropped": inbox.dropped() })
}
