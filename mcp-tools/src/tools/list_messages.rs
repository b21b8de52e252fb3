//! The tool `list_messages`.

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer, format};
use crate::{
    arguments::{Arguments, tool},
    context::AgentContext,
    inbox::{Filter, Kind, Received},
};

/// The largest number of messages in one answer.
const MAX_MESSAGES: usize = 50;

/// Lists summaries of the received messages that match a filter.
#[derive(Debug)]
pub struct ListMessages;

#[async_trait]
impl Tool for ListMessages {
    fn describe(&self) -> rmcp::model::Tool {
        let kinds = Kind::ALL.map(Kind::name);
        let properties = json!({
            "kind": {"type": "string", "enum": kinds, "description": "Only messages that contain this text."},
            "acknowledged": {"type": "boolean", "description": "Only messages that were acknowledged (true) or not acknowledged (false)."},
            "after": {"type": "integer", "minimum": 0, "description": "Only messages with a greater number."},
        });
        let description = "List the messages received from the Green Agent, oldest first, in short. \
            `next_after` is there when there are more: pass it as `after`.";
        tool("list_messages", description, properties, &[])
    }

    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(filter(arguments).map(|filter| list(context, &filter)))
    }
}

fn filter(arguments: JsonObject) -> Result<Filter, FieldError> {
    Arguments::read_all(arguments, |given| {
        Ok(Filter {
            kind: given.optional("kind")?.map(kind).transpose()?,
            acknowledged: given.optional("acknowledged")?,
            after: given.optional("after")?.unwrap_or(0),
        })
    })
}

fn kind(name: String) -> Result<Kind, FieldError> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| {
        let expected = format!("one of {}", Kind::ALL.map(Kind::name).join(", "));
        FieldError::unexpected(expected, &Value::String(name)).inside("kind")
    })
}

fn list(context: &AgentContext, filter: &Filter) -> Value {
    let messages = context.incoming_messages().list(filter);
    let secrets = format::secrets(context);
    let first: Vec<&Received> = messages.iter().take(MAX_MESSAGES).collect();
    let mut answer = json!({
        "count": messages.len(),
        "messages": first.iter().map(|m| format::summary(m, &secrets)).collect::<Vec<_>>(),
    });
    if let Some(last) = first.last().filter(|_| messages.len() > MAX_MESSAGES) {
        answer["next_after"] = json!(last.number);
    }
    answer
}
