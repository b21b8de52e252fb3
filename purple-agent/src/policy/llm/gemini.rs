//! Gemini's `generateContent` API with function calls. <https://ai.google.dev/api/generate-content>

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

/// Returns the path of a model's resource below the base URL, which may already contain the version.
pub(super) fn path(settings: &LlmSettings) -> String {
    let model = settings.model.trim_start_matches("models/");
    let base = settings.base_url.path().trim_end_matches('/');
    match base.rsplit('/').next() {
        Some("v1" | "v1alpha" | "v1beta") => format!("models/{model}:generateContent"),
        Some(_) | None => format!("v1beta/models/{model}:generateContent"),
    }
}

pub(super) fn headers(key: Option<&Secret>) -> Vec<(&'static str, Secret)> {
    key.map(|key| ("x-goog-api-key", key.clone())).into_iter().collect()
}

pub(super) fn request(
    limit: u64,
    system: &str,
    entries: &[Entry],
    tools: &[ToolDefinition],
) -> Value {
    let declarations: Value = tools.iter().map(declaration).collect();
    json!({
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": contents(entries),
        "generationConfig": {"maxOutputTokens": limit},
        "tools": [{"functionDeclarations": declarations}],
    })
}

fn contents(entries: &[Entry]) -> Vec<Value> {
    alternating(entries, "parts", |entry| match entry {
        Entry::User { text, images } => {
            ("user", iter::once(json!({"text": text})).chain(images.iter().map(inline)).collect())
        }
        Entry::Assistant(raw) => ("model", raw.as_array().cloned().unwrap_or_default()),
        Entry::Results(results) => {
            let images = results.iter().flat_map(|result| &result.images).map(inline);
            ("user", results.iter().map(response).chain(images).collect())
        }
    })
}

fn inline(image: &Image) -> Value {
    json!({"inlineData": {"mimeType": image.media_type, "data": image.data}})
}

/// Returns the response to a call. A call without an id gets a response without one, identified by its name and
/// position.
fn response(result: &ToolResult) -> Value {
    let key = if result.failed { "error" } else { "output" };
    let mut response = json!({"name": result.name, "response": {key: result.text}});
    if !result.id.starts_with(OWN_ID) {
        response["id"] = json!(result.id);
    }
    json!({ "functionResponse": response })
}

fn declaration(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    })
}

/// The ends for which Gemini withholds an answer.
const WITHHELD: [&str; 5] = ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"];

/// The prefix of ids for calls that have none.
const OWN_ID: &str = "unnamed-call-";

pub(super) fn reply(answer: &Value) -> Result<Reply, FieldError> {
    let blocked = answer.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
    if let Some(reason) = blocked {
        let withheld = Some(reason.to_owned());
        return Ok(Reply { withheld, tokens: tokens(answer), ..Reply::default() });
    }
    let candidate = list(answer, "candidates")?
        .first()
        .ok_or_else(|| FieldError::new("one candidate at least", "none").inside("candidates"))?;
    read_candidate(candidate, answer).map_err(|error| error.at(0).inside("candidates"))
}

fn tokens(answer: &Value) -> Option<u64> {
    answer.pointer("/usageMetadata/totalTokenCount")?.as_u64()
}

fn read_candidate(candidate: &Value, answer: &Value) -> Result<Reply, FieldError> {
    let reason = candidate["finishReason"].as_str().unwrap_or("STOP");
    let content = candidate.get("content").unwrap_or(&Value::Null);
    let is_malformed = matches!(reason, "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL");
    let withheld = withheld(candidate.get("finishReason"), &WITHHELD);
    let why = || candidate["finishMessage"].as_str().unwrap_or(reason).to_owned();
    let parts = match content.get("parts") {
        // The model used all its output for thinking, ended with an empty text, or wrote a malformed call.
        None if is_malformed || matches!(reason, "STOP" | "MAX_TOKENS") => Vec::new(),
        None if withheld.is_some() => Vec::new(),
        None => {
            let found = format!("the end {reason}");
            return Err(FieldError::new("content", found).inside("finishReason"));
        }
        Some(_) => list(content, "parts").map_err(|error| error.inside("content"))?.clone(),
    };
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        if let Some(call) = part.get("functionCall") {
            let placed = |error: FieldError| error.at(index).inside("parts").inside("content");
            calls.push(read_call(call, index).map_err(placed)?);
        } else if part["thought"] != true {
            texts.extend(part["text"].as_str());
        }
    }
    Ok(Reply {
        text: texts.concat(),
        calls,
        tokens: tokens(answer),
        truncated: reason == "MAX_TOKENS",
        withheld,
        malformed: is_malformed.then(why),
        raw: Value::Array(parts),
    })
}

fn read_call(call: &Value, index: usize) -> Result<RequestedCall, FieldError> {
    let arguments = match call.get("args") {
        None | Some(Value::Null) => Ok(Default::default()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(_) => Err("the args are no JSON object".to_owned()),
    };
    let id = call.get("id").and_then(Value::as_str);
    Ok(RequestedCall {
        id: id.map_or_else(|| format!("{OWN_ID}{index}"), str::to_owned),
        name: string(call, "name").map_err(|error| error.inside("functionCall"))?,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_and_without_ids_are_answered_as_they_were_asked() {
        let answer = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "hm", "thought": true},
            {"text": "I look."},
            {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "c-2", "name": "look"}},
        ]}}]});
        let reply = reply(&answer).unwrap();
        assert_eq!((reply.text.as_str(), reply.truncated), ("I look.", false));
        let results = reply.calls.iter().map(|call| ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: "seen".to_owned(),
            failed: call.id == "c-2",
            images: Vec::new(),
        });
        let entries = [
            Entry::text("begin"),
            Entry::Assistant(reply.raw.clone()),
            Entry::Results(results.collect()),
            Entry::text("go on"),
        ];
        let contents = contents(&entries);
        assert_eq!(contents[1], answer["candidates"][0]["content"]);
        assert_eq!(
            contents[2]["parts"],
            json!([
                {"functionResponse": {"name": "look", "response": {"output": "seen"}}},
                {"functionResponse": {"id": "c-2", "name": "look", "response": {"error": "seen"}}},
                {"text": "go on"},
            ])
        );
    }

    #[test]
    fn a_bad_answer_names_the_field() {
        for (answer, error) in [
            (json!({}), "candidates: expected a list, found nothing"),
            (
                json!({"candidates": [{"finishReason": "OTHER"}]}),
                "candidates[0].finishReason: expected content, found the end OTHER",
            ),
            (
                json!({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}),
                "candidates[0].content.parts[0].functionCall.name: expected a string, found nothing",
            ),
        ] {
            assert_eq!(reply(&answer).unwrap_err().to_string(), error);
        }
        let truncated = reply(&json!({"candidates": [{"finishReason": "MAX_TOKENS"}]})).unwrap();
        assert!(truncated.truncated && truncated.calls.is_empty());
    }
}
