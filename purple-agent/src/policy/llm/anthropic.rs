//! Anthropic's messages API with tool use. <https://docs.anthropic.com/en/api/messages>

use std::iter;

use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use serde_json::{Value, json};

use super::{
    chat::{Entry, Reply, RequestedCall, ToolDefinition, ToolResult, alternating, withheld},
    image::Image,
    read::{list, string},
    settings::LlmSettings,
};

pub(super) const PATH: &str = "v1/messages";

/// The version of the API.
const VERSION: &str = "2023-06-01";

pub(super) fn headers(key: Option<&Secret>) -> Vec<(&'static str, Secret)> {
    let version = ("anthropic-version", Secret::new(VERSION));
    let key = key.map(|key| ("x-api-key", key.clone()));
    iter::once(version).chain(key).collect()
}

pub(super) fn request(
    settings: &LlmSettings,
    limit: u64,
    system: &str,
    entries: &[Entry],
    tools: &[ToolDefinition],
) -> Value {
    json!({
        "model": settings.model,
        "max_tokens": limit,
        "system": system,
        "messages": messages(entries),
        "tools": tools.iter().map(tool).collect::<Value>(),
    })
}

/// Converts the conversation. Tool results come first in a user's message, as the API demands.
fn messages(entries: &[Entry]) -> Vec<Value> {
    alternating(entries, "content", |entry| match entry {
        Entry::User { text, images } => ("user", blocks(text, images)),
        Entry::Assistant(raw) => ("assistant", raw.as_array().cloned().unwrap_or_default()),
        Entry::Results(results) => ("user", results.iter().map(result_block).collect()),
    })
}

fn result_block(result: &ToolResult) -> Value {
    let content = match result.images.as_slice() {
        [] => json!(result.text),
        images => blocks(&result.text, images).into(),
    };
    json!({
        "type": "tool_result",
        "tool_use_id": result.id,
        "content": content,
        "is_error": result.failed,
    })
}

fn blocks(text: &str, images: &[Image]) -> Vec<Value> {
    let image = |image: &Image| {
        let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
        json!({"type": "image", "source": source})
    };
    iter::once(json!({"type": "text", "text": text})).chain(images.iter().map(image)).collect()
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

pub(super) fn reply(answer: &Value) -> Result<Reply, FieldError> {
    let content = list(answer, "content")?;
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for (index, block) in content.iter().enumerate() {
        match block["type"].as_str() {
            Some("text") => texts.extend(block["text"].as_str()),
            Some("tool_use") => {
                let call = read_call(block);
                calls.push(call.map_err(|error| error.at(index).inside("content"))?);
            }
            // Thinking blocks and unknown blocks are sent back unchanged but not interpreted.
            Some(_) | None => {}
        }
    }
    let usage = |name: &str| answer.get("usage")?.get(name)?.as_u64();
    let (read, written) = (usage("input_tokens"), usage("output_tokens"));
    Ok(Reply {
        text: texts.join("\n"),
        calls,
        tokens: read.zip(written).map(|(read, written)| read.saturating_add(written)),
        truncated: matches!(
            answer["stop_reason"].as_str(),
            Some("max_tokens" | "model_context_window_exceeded")
        ),
        withheld: withheld(answer.get("stop_reason"), &["refusal"]),
        raw: Value::Array(content.clone()),
        malformed: None,
    })
}

fn read_call(block: &Value) -> Result<RequestedCall, FieldError> {
    let arguments = match block.get("input") {
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(_) | None => Err("the input is no JSON object".to_owned()),
    };
    Ok(RequestedCall { id: string(block, "id")?, name: string(block, "name")?, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_messages_are_joined_with_results_first() {
        let result = ToolResult {
            id: "t1".into(),
            name: "add".into(),
            text: "7".into(),
            ..ToolResult::default()
        };
        let entries = [
            Entry::text("begin"),
            Entry::Assistant(json!([{"type": "tool_use", "id": "t1", "name": "add", "input": {}}])),
            Entry::Results(vec![result]),
            Entry::text("go on"),
        ];
        let messages = messages(&entries);
        let roles: Vec<_> = messages.iter().map(|one| one["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(
            messages[2]["content"],
            json!([
                {"type": "tool_result", "tool_use_id": "t1", "content": "7", "is_error": false},
                {"type": "text", "text": "go on"},
            ])
        );
    }

    #[test]
    fn a_bad_answer_names_the_field() {
        for (answer, error) in [
            (json!([]), "content: expected a list, found nothing"),
            (
                json!({"content": [{"type": "text", "text": ""}, {"type": "tool_use", "id": "a"}]}),
                "content[1].name: expected a string, found nothing",
            ),
        ] {
            assert_eq!(reply(&answer).unwrap_err().to_string(), error);
        }
    }
}
