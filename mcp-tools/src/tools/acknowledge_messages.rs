//! The tool `acknowledge_messages`.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer};
use crate::{
    arguments::{Arguments, changing, tool},
    context::AgentContext,
    inbox::Filter,
};

/// Acknowledges messages to their sender.
#[derive(Debug)]
pub struct AcknowledgeMessages;

#[async_trait]
impl Tool for AcknowledgeMessages {
    fn describe(&self) -> rmcp::model::Tool {
        let properties = json!({
            "message_ids": {"type": "array", "items": {"type": "string"}, "description": "The messages. If absent: all that were not acknowledged."},
        });
        let description = "Confirm to the Green Agent that messages were received, so that it need not send them again.";
        changing(tool("acknowledge_messages", description, properties, &[]))
    }

    async fn call(&self, context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(match requested_ids(context, arguments) {
            Ok(ids) => acknowledge(context, &ids).await,
            Err(error) => Err(error.to_string()),
        })
    }
}

fn requested_ids(context: &AgentContext, arguments: JsonObject) -> Result<Vec<String>, FieldError> {
    match Arguments::read_all(arguments, |given| given.optional("message_ids"))? {
        Some(asked) => known(context, asked),
        None => Ok(waiting(context)),
    }
}

fn known(context: &AgentContext, asked: Vec<String>) -> Result<Vec<String>, FieldError> {
    let history = context.incoming_messages().history();
    let received: BTreeSet<String> = history.into_iter().filter_map(|m| m.message_id).collect();
    match asked.iter().position(|id| !received.contains(id)) {
        None => Ok(asked),
        Some(index) => {
            let found = Value::String(asked[index].clone());
            let error = FieldError::unexpected("the message_id of a received message", &found);
            Err(error.at(index).inside("message_ids"))
        }
    }
}

fn waiting(context: &AgentContext) -> Vec<String> {
    let waiting = Filter { acknowledged: Some(false), ..Filter::default() };
    let messages = context.incoming_messages().list(&waiting);
    messages.into_iter().filter_map(|m| m.message_id).collect()
}

/// Acknowledges messages. They are marked as acknowledged only after the peer has accepted it.
async fn acknowledge(context: &AgentContext, ids: &[String]) -> Result<Value, String> {
    let acknowledger = context.acknowledger();
    if let Some(peer) = acknowledger.as_ref().filter(|_| !ids.is_empty()) {
        let told = peer.acknowledge(ids).await;
        told.map_err(|error| error.to_string())?;
    }
    context.incoming_messages().acknowledge(ids);
    let mut answer = json!({ "acknowledged": ids });
    if acknowledger.is_none() {
        answer["note"] = json!("the peer did not request acknowledgements, so none was sent");
    }
    Ok(answer)
}
