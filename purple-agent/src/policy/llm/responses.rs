//! OpenAI's responses API with function calls; the server stores no state.
//!
//! <https://platform.openai.com/docs/api-reference/responses>

use std::iter;

use bridge_protocol::wire::FieldError;
use serde_json::{Value, json};

use super::{
    chat::{Entry, Reply, RequestedCall, ToolDefinition, ToolResult, withheld},
    image::Image,
    openai::arguments,
    quirks::ServerQuirks,
    read::{list, string},
    settings::LlmSettings,
};

pub(super) const PATH: &str = "responses";

pub(super) fn request(
    settings: &LlmSettings,
    quirks: &ServerQuirks,
    system: &str,
    entries: &[Entry],
    tools: &[ToolDefinition],
) -> Value {
    let encrypted = quirks.gives_encrypted_reasoning();
    let input: Vec<Value> = entries.iter().flat_map(|entry| items(entry, encrypted)).collect();
    let mut body = json!({
        "model": settings.model,
        "instructions": system,
        "input": input,
        "max_output_tokens": quirks.output_limit(settings.max_output_tokens),
        "store": false,
        "tools": quirks.fitting(tools).map(|tool| function(tool, quirks)).collect::<Value>(),
    });
    if encrypted {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    body
}

fn items(entry: &Entry, encrypted: bool) -> Vec<Value> {
    match entry {
        Entry::User { text, images } => {
            vec![json!({"role": "user", "content": content(text, images)})]
        }
        Entry::Assistant(raw) => {
            let items = raw.as_array().into_iter().flatten();
            items.filter(|item| can_be_sent_back(item, encrypted)).cloned().collect()
        }
        Entry::Results(results) => results.iter().map(output).collect(),
    }
}

/// Returns whether an item can be sent back. A server without state can read only encrypted reasoning.
fn can_be_sent_back(item: &Value, encrypted: bool) -> bool {
    item["type"] != "reasoning" || encrypted && item["encrypted_content"].is_string()
}

fn output(result: &ToolResult) -> Value {
    let output = content(&result.stated(), &result.images);
    json!({"type": "function_call_output", "call_id": result.id, "output": output})
}

/// Returns a text with images, or the text alone, which more servers accept.
fn content(text: &str, images: &[Image]) -> Value {
    let image =
        |image: &Image| json!({"type": "input_image", "image_url": image.url(), "detail": "auto"});
    let text = json!({"type": "input_text", "text": text});
    match images {
        [] => text["text"].clone(),
        images => iter::once(text).chain(images.iter().map(image)).collect(),
    }
}

/// Describes a tool. `strict` is off, because schemas of other servers may not meet its rules.
fn function(tool: &ToolDefinition, quirks: &ServerQuirks) -> Value {
    let tool = quirks.accepted(tool);
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

pub(super) fn reply(answer: &Value) -> Result<Reply, FieldError> {
    let output = list(answer, "output")?;
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for (index, item) in output.iter().enumerate() {
        match item["type"].as_str() {
            Some("message") => {
                let content = item["content"].as_array().into_iter().flatten();
                texts.extend(
                    content.filter_map(|part| {
                        part["text"].as_str().or_else(|| part["refusal"].as_str())
                    }),
                );
            }
            Some("function_call") => {
                let call = read_call(item);
                calls.push(call.map_err(|error| error.at(index).inside("output"))?);
            }
            // Reasoning and unknown items are sent back unchanged but not interpreted.
            Some(_) | None => {}
        }
    }
    let reason = answer.pointer("/incomplete_details/reason");
    Ok(Reply {
        text: texts.join("\n"),
        calls,
        tokens: answer.pointer("/usage/total_tokens").and_then(Value::as_u64),
        truncated: reason.is_some_and(|reason| reason == "max_output_tokens"),
        withheld: withheld(reason, &["content_filter"]),
        raw: Value::Array(output.clone()),
        malformed: None,
    })
}

fn read_call(item: &Value) -> Result<RequestedCall, FieldError> {
    Ok(RequestedCall {
        id: string(item, "call_id")?,
        name: string(item, "name")?,
        arguments: arguments(&string(item, "arguments")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_goes_back_only_where_it_can_be_read() {
        let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let mut sealed = thought.clone();
        sealed["encrypted_content"] = json!("c2VhbGVk");
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"});
        let entry = Entry::Assistant(json!([thought, sealed, call]));
        assert_eq!(items(&entry, true), [sealed, call.clone()]);
        assert_eq!(items(&entry, false), [call]);
    }

    #[test]
    fn a_refusal_is_what_the_model_says() {
        let content = json!([{"type": "refusal", "refusal": "I must not."}]);
        let answer = json!({"output": [{"type": "message", "content": content}]});
        assert_eq!(reply(&answer).unwrap().text, "I must not.");
    }

    #[test]
    fn a_bad_answer_names_the_field() {
        for (answer, error) in [
            (json!({}), "output: expected a list, found nothing"),
            (
                json!({"output": [{"type": "function_call", "id": "fc"}]}),
                "output[0].call_id: expected a string, found nothing",
            ),
        ] {
            assert_eq!(reply(&answer).unwrap_err().to_string(), error);
        }
    }
}
