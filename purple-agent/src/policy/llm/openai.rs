//! OpenAI's chat completions API with tool calls, which many other servers implement too.
//!
//! <https://platform.openai.com/docs/api-reference/chat>

use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{
    chat::{Entry, Reply, RequestedCall, ToolDefinition, ToolResult, withheld},
    image::Image,
    quirks::ServerQuirks,
    read::{list, member, no_error, string},
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
    let tools: Value = quirks.fitting(tools).map(|tool| function(tool, quirks)).collect();
    json!({
        "model": settings.model,
        "messages": messages,
        quirks.limit_field(settings.limit_field): quirks.output_limit(settings.max_output_tokens),
        "tools": tools,
    })
}

fn messages_of(entry: &Entry, quirks: &ServerQuirks) -> Vec<Value> {
    match entry {
        Entry::User { text, images } => vec![user_message(text, images)],
        Entry::Assistant(raw) => vec![answer_of(raw, quirks)],
        Entry::Results(results) => {
            let images = results.iter().filter(|result| !result.images.is_empty());
            results.iter().map(tool_message).chain(images.map(images_message)).collect()
        }
    }
}

fn user_message<'a>(text: &str, images: impl IntoIterator<Item = &'a Image>) -> Value {
    let images = images
        .into_iter()
        .map(|image| json!({"type": "image_url", "image_url": {"url": image.url()}}));
    let images: Vec<Value> = images.collect();
    match images.is_empty() {
        true => json!({"role": "user", "content": text}),
        false => {
            let text = std::iter::once(json!({"type": "text", "text": text}));
            json!({"role": "user", "content": text.chain(images).collect::<Value>()})
        }
    }
}

/// Returns the images of a result as a message of their own, because results are texts in this API.
fn images_message(result: &ToolResult) -> Value {
    let text = format!("The images in the result of {} (call {}):", result.name, result.id);
    user_message(&text, &result.images)
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
    let tool = quirks.accepted(tool);
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
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
    no_error(choice)?;
    let raw = sent_back(member(choice, "message")?);
    let asked = raw.get("tool_calls").and_then(Value::as_array);
    let mut calls = Vec::new();
    for (index, call) in asked.into_iter().flatten().enumerate() {
        let call = read_call(call);
        let placed = |error: FieldError| error.at(index).inside("tool_calls").inside("message");
        calls.push(call.map_err(placed)?);
    }
    let usage = |name: &str| answer.get("usage")?.get(name)?.as_u64();
    Ok(Reply {
        text: said(&raw),
        calls,
        tokens: usage("total_tokens"),
        truncated: choice["finish_reason"] == "length",
        withheld: withheld(choice.get("finish_reason"), &["content_filter"]),
        malformed: None,
        raw,
    })
}

/// Returns what the model says: its content, which some servers send in parts, or its refusal.
fn said(raw: &Value) -> String {
    let parts = raw["content"].as_array().into_iter().flatten();
    let whole = raw["content"].as_str();
    let said: String =
        whole.into_iter().chain(parts.filter_map(|part| part["text"].as_str())).collect();
    match (said.is_empty(), raw["refusal"].as_str()) {
        (true, Some(refusal)) => refusal.to_owned(),
        (true, None) | (false, _) => said,
    }
}

/// Returns the answer in the form in which it is sent back. Servers add members to answers that they reject in
/// requests, and some give calls no ids, by which results refer to them.
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
    let calls = kept.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (index, call) in calls.into_iter().flatten().enumerate() {
        if let Value::Object(call) = call
            && call.get("id").is_none_or(Value::is_null)
        {
            call.insert("id".to_owned(), json!(format!("call_{index}")));
        }
        if let Some(function) = call.get_mut("function").filter(|function| function.is_object()) {
            function["arguments"] = json!(written(function));
        }
    }
    Value::Object(kept)
}

fn read_call(call: &Value) -> Result<RequestedCall, FieldError> {
    let function = member(call, "function")?;
    let inside = |error: FieldError| error.inside("function");
    Ok(RequestedCall {
        id: string(call, "id")?,
        name: string(function, "name").map_err(inside)?,
        arguments: arguments(&written(function)),
    })
}

/// Returns the arguments as text. Some servers send an object, or nothing for a tool without parameters.
fn written(function: &Value) -> String {
    match function.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
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
                json!({"choices": [{"error": {"message": "the provider is down"}, "message": {"content": ""}}]}),
                "choices[0].error: expected an answer, found the provider is down",
            ),
            (
                call(json!({"id": 1, "function": {"name": "f", "arguments": "{}"}})),
                "choices[0].message.tool_calls[0].id: expected a string, found the number 1",
            ),
            (
                call(json!({"function": "f"})),
                "choices[0].message.tool_calls[0].function: expected an object, found the string \"f\"",
            ),
        ] {
            assert_eq!(reply(&answer).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn answers_in_other_shapes_are_read() {
        let read = |message: Value| reply(&json!({"choices": [{"message": message}]})).unwrap();
        let parts = json!([{"type": "thinking", "thinking": []}, {"type": "text", "text": "Done"}, {"text": "."}]);
        assert_eq!(read(json!({ "content": parts })).text, "Done.");
        assert_eq!(read(json!({"content": null, "refusal": "I must not."})).text, "I must not.");
        for (sent, text) in [(json!({"a": 1}), "{\"a\":1}"), (Value::Null, "{}")] {
            let call = json!({"id": "c", "function": {"name": "look", "arguments": sent}});
            let reply = read(json!({"tool_calls": [call]}));
            assert_eq!(json!(reply.calls[0].arguments.clone().unwrap()).to_string(), text);
            assert_eq!(reply.raw["tool_calls"][0]["function"]["arguments"], text);
        }
    }

    #[test]
    fn calls_without_ids_get_some() {
        let call = json!({"type": "function", "function": {"name": "look", "arguments": "{}"}});
        let mut other = call.clone();
        other["id"] = Value::Null;
        let message = json!({"tool_calls": [call, other]});
        let reply = reply(&json!({"choices": [{"message": message}]})).unwrap();
        for (call, id) in reply.calls.iter().zip(["call_0", "call_1"]) {
            assert_eq!(call.id, id);
        }
        assert_eq!(reply.raw["tool_calls"][1]["id"], "call_1");
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
