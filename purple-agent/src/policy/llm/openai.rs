//! OpenAI's chat completions API with tool calls, which many other servers implement too.
//!
//! <https://platform.openai.com/docs/api-reference/chat>

use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{
    chat::{Entry, Reply, RequestedCall, ToolDefinition, ToolResult},
    quirks::ServerQuirks,
    read::{list, member, string},
    settings::LlmSettings,
};

pub(super) const PATH: &str = "chat/completions";

pub(super) fn headers(key: Option<&Secret>) -> Vec<(&'static str, Secret)> {
    let bearer = |key: &Secret| Secret::new(format!("Bearer {}", key.expose()));
    key.map(|key| ("authorization", bearer(key))).into_iter().collect()
}

pub(super) fn request(
    settings: &LlmSettings,
    quirks: &ServerQuirks,
    system: &str,
    entries: &[Entry],
    tools: &[ToolDefinition],
) -> Value {
    let mut messages = vec![json!({"role": "system", "content": system})];
    messages.extend(entries.iter().flat_map(|entry| messages_of(entry, quirks)));
    let tools: Value = tools.iter().map(|tool| function(tool, quirks)).collect();
    json!({
        "model": settings.model,
        "messages": messages,
        quirks.limit_field(settings.limit_field): settings.max_output_tokens,
        "tools": tools,
    })
}

fn messages_of(entry: &Entry, quirks: &ServerQuirks) -> Vec<Value> {
    match entry {
        Entry::User(text) => vec![json!({"role": "user", "content": text})],
        Entry::Assistant(raw) => vec![answer_of(raw, quirks)],
        Entry::Results(results) => results.iter().map(tool_message).collect(),
    }
}

/// The members with a model's reasoning. Models that reason between calls need it back; servers that do not accept
/// it reject the request.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning_details"];

fn answer_of(raw: &Value, quirks: &ServerQuirks) -> Value {
    let mut answer = raw.clone();
    if let Value::Object(members) = &mut answer
        && !quirks.takes_reasoning()
    {
        members.retain(|name, _| !THOUGHTS.contains(&name.as_str()));
    }
    answer
}

fn tool_message(result: &ToolResult) -> Value {
    json!({"role": "tool", "tool_call_id": result.id, "content": result.stated()})
}

fn function(tool: &ToolDefinition, quirks: &ServerQuirks) -> Value {
    let description = quirks.description(&tool.description);
    json!({"type": "function", "function": {
        "name": tool.name, "description": description, "parameters": tool.parameters,
    }})
}

pub(super) fn reply(answer: &Value) -> Result<Reply, FieldError> {
    let choices = list(answer, "choices")?;
    let choice = choices
        .first()
        .ok_or_else(|| FieldError::new("one choice at least", "none").inside("choices"))?;
    read_choice(choice, answer).map_err(|error| error.at(0).inside("choices"))
}

fn read_choice(choice: &Value, answer: &Value) -> Result<Reply, FieldError> {
    let raw = member(choice, "message")?;
    let asked = raw.get("tool_calls").and_then(Value::as_array);
    let mut calls = Vec::new();
    for (index, call) in asked.into_iter().flatten().enumerate() {
        let call = read_call(call);
        let placed = |error: FieldError| error.at(index).inside("tool_calls").inside("message");
        calls.push(call.map_err(placed)?);
    }
    let usage = |name: &str| answer.get("usage")?.get(name)?.as_u64();
    Ok(Reply {
        raw: sent_back(raw),
        text: raw["content"].as_str().unwrap_or_default().to_owned(),
        calls,
        tokens: usage("total_tokens"),
        truncated: choice["finish_reason"] == "length",
    })
}

/// Returns the answer in the form in which it is sent back. Servers add members to answers that they reject in
/// requests.
fn sent_back(raw: &Value) -> Value {
    const KNOWN: [&str; 4] = ["role", "content", "refusal", "tool_calls"];
    let members = raw.as_object().into_iter().flatten();
    let is_known = |name: &str| KNOWN.contains(&name) || THOUGHTS.contains(&name);
    let known = members.filter(|(name, value)| is_known(name) && !value.is_null());
    let mut kept: JsonObject = known.map(|(name, value)| (name.clone(), value.clone())).collect();
    kept.insert("role".to_owned(), json!("assistant"));
    if kept.get("tool_calls").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        kept.remove("tool_calls");
    }
    Value::Object(kept)
}

fn read_call(call: &Value) -> Result<RequestedCall, FieldError> {
    let function = member(call, "function")?;
    let inside = |error: FieldError| error.inside("function");
    Ok(RequestedCall {
        id: string(call, "id")?,
        name: string(function, "name").map_err(inside)?,
        arguments: arguments(&string(function, "arguments").map_err(inside)?),
    })
}

/// Parses the arguments, which the model wrote as text and which may be invalid.
pub(super) fn arguments(text: &str) -> Result<JsonObject, String> {
    if text.trim().is_empty() {
        return Ok(JsonObject::new());
    }
    serde_json::from_str(text).map_err(|error| format!("the arguments are no JSON object: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_answer_names_the_field() {
        let call = |call: Value| json!({"choices": [{"message": {"tool_calls": [call]}}]});
        for (answer, error) in [
            (json!({}), "choices: expected a list, found nothing"),
            (json!({"choices": []}), "choices: expected one choice at least, found none"),
            (json!({"choices": [{}]}), "choices[0].message: expected an object, found nothing"),
            (
                call(json!({"id": 1, "function": {"name": "f", "arguments": "{}"}})),
                "choices[0].message.tool_calls[0].id: expected a string, found the number 1",
            ),
        ] {
            assert_eq!(reply(&answer).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_for_the_model_to_mend() {
        assert_eq!(arguments(" "), Ok(JsonObject::new()));
        assert!(
            arguments("{\"a\": 1").unwrap_err().starts_with("the arguments are no JSON object")
        );
        assert!(arguments("[]").is_err());
    }
}
