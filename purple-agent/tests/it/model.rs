//! Simulated model servers, which validate requests like the real ones and replay recorded answers.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderValue, Response},
    routing::post,
};
use serde_json::{Value, json};
use url::Url;

use crate::green::serve;

pub(crate) const KEY: &str = "sk-test-0123456789";

/// The API of a simulated server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    OpenAi,
    Responses,
    Anthropic,
    Gemini,
}

impl Protocol {
    /// Returns the setting that selects the API, the path where it is served, and the base URL of its clients.
    fn places(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::OpenAi => ("openai", "/v1/chat/completions", "/v1"),
            Self::Responses => ("openai-responses", "/v1/responses", "/v1"),
            Self::Anthropic => ("anthropic", "/v1/messages", "/"),
            Self::Gemini => ("gemini", "/v1beta/models/test-model:generateContent", "/"),
        }
    }

    fn check(self, headers: &HeaderMap, request: &Value) -> Checked {
        match self {
            Self::OpenAi => openai(headers, request),
            Self::Responses => responses(headers, request),
            Self::Anthropic => anthropic(headers, request),
            Self::Gemini => gemini(headers, request),
        }
    }
}

/// One answer: status, headers, body.
pub(crate) type Answer = (u16, Vec<(&'static str, &'static str)>, String);

/// A running simulated server.
pub(crate) struct Model {
    pub(crate) base_url: Url,
    state: Arc<Server>,
}

struct Server {
    protocol: Protocol,
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Value>>,
}

impl Model {
    pub(crate) async fn start(protocol: Protocol, answers: Vec<Answer>) -> Self {
        let state = Arc::new(Server {
            protocol,
            answers: Mutex::new(answers.into()),
            requests: Mutex::default(),
        });
        let (_, path, base) = protocol.places();
        let app = Router::new().route(path, post(answer)).with_state(state.clone());
        let url = serve(async |_| app).await;
        let base_url = url.join(base).unwrap();
        Self { base_url, state }
    }

    /// Returns the settings with which the policy `llm` uses the server. The key is in an environment variable
    /// that every test has, and the server requires the value of that variable.
    pub(crate) fn settings(&self) -> Value {
        let (provider, _, _) = self.state.protocol.places();
        json!({"provider": provider, "base_url": self.base_url, "model": "test-model", "longest_pause": 0.02})
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.state.requests.lock().unwrap().clone()
    }
}

/// Returns recorded answers of a successful conversation.
pub(crate) fn recorded(fixture: &str, sum: i64) -> Vec<Answer> {
    let fixture = fixture.replace("SUM", &sum.to_string());
    let answers: Vec<Value> = serde_json::from_str(&fixture).unwrap();
    answers.iter().map(well).collect()
}

pub(crate) fn well(answer: &Value) -> Answer {
    (200, vec![("content-type", "application/json")], answer.to_string())
}

async fn answer(
    State(told): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let refused = told.protocol.check(&headers, &request).err();
    told.requests.lock().unwrap().push(request);
    let (status, headers, body) = match refused {
        Some((status, message)) => {
            let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
            (status, Vec::new(), error.to_string())
        }
        None => told.answers.lock().unwrap().pop_front().expect("an answer is left"),
    };
    let mut reply = Response::builder().status(status);
    for (name, value) in headers {
        reply = reply.header(name, value);
    }
    reply.body(Body::from(body)).unwrap()
}

type Checked = Result<(), (u16, String)>;

fn check(holds: bool, what: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err((400, what.into())) }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn bearer(headers: &HeaderMap) -> Checked {
    let bearer = headers.get("authorization").and_then(|value| value.to_str().ok());
    match bearer.filter(|bearer| *bearer != format!("Bearer {KEY}")) {
        Some(wrong) => Err((401, format!("Incorrect API key provided: {wrong}"))),
        None => Ok(()),
    }
}

/// Validates a request: each call has exactly one result, which follows it, and reasoning precedes the item that
/// it led to.
fn responses(headers: &HeaderMap, request: &Value) -> Checked {
    bearer(headers)?;
    check(request["model"].is_string(), "missing model")?;
    check(request["instructions"].is_string(), "missing instructions")?;
    check(
        request["max_output_tokens"].as_u64() >= Some(16),
        "max_output_tokens: expected 16 at least",
    )?;
    tools(list(request, "tools"), |tool| {
        (tool["type"] == "function").then(|| (tool, &tool["parameters"]))
    })?;
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let input = list(request, "input");
    for (index, item) in input.iter().enumerate() {
        let at = |what: &str| format!("input[{index}]: {what}");
        let kind = item["type"].as_str().unwrap_or("message");
        match kind {
            "function_call" => {
                check(item["arguments"].is_string(), at("no arguments"))?;
                open.insert(item["call_id"].as_str().unwrap_or_default());
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                check(open.remove(id), at("No tool call found for function call output"))?;
                check(item["output"].is_string(), at("no output"))?;
            }
            "reasoning" => {
                let stored = request["store"] != false;
                check(
                    stored || item["encrypted_content"].is_string(),
                    at("not found. Items are not persisted when `store` is set to false"),
                )?;
                let next = input.get(index + 1).map(|next| &next["type"]);
                let follows = next.is_some_and(|kind| kind == "function_call" || kind == "message");
                check(follows, at("reasoning without its required following item"))?;
            }
            "message" => {
                check(open.is_empty(), at("No tool output found for function call"))?;
                let role = item["role"].as_str().unwrap_or_default();
                check(["user", "assistant"].contains(&role), at("role"))?;
            }
            other => check(false, at(other))?,
        }
    }
    check(open.is_empty(), format!("No tool output found for function call {open:?}"))
}

/// Validates a request: roles alternate, and all calls of a model's content are answered in the next content.
fn gemini(headers: &HeaderMap, request: &Value) -> Checked {
    let key = headers.get("x-goog-api-key");
    if key.is_some_and(|key| key != KEY) {
        return Err((400, "API key not valid. Please pass a valid API key.".to_owned()));
    }
    const KNOWN: [&str; 4] = ["systemInstruction", "contents", "tools", "generationConfig"];
    for name in request.as_object().into_iter().flatten().map(|(name, _)| name) {
        let unknown = format!("Invalid JSON payload received. Unknown name {name:?}");
        check(KNOWN.contains(&name.as_str()), unknown)?;
    }
    check(
        request["generationConfig"]["maxOutputTokens"].as_u64() > Some(0),
        "maxOutputTokens must be positive",
    )?;
    check(
        request["systemInstruction"]["parts"][0]["text"].is_string(),
        "systemInstruction has no parts",
    )?;
    let declared = list(&request["tools"][0], "functionDeclarations");
    // ProtoJSON accepts both spellings, and the vendor's SDK sends the second.
    tools(declared, |tool| {
        let schema = tool.get("parametersJsonSchema");
        Some((tool, schema.or(tool.get("parameters_json_schema"))?))
    })?;
    let mut open: Vec<&Value> = Vec::new();
    for (index, content) in list(request, "contents").iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "model" };
        check(content["role"] == role, format!("contents[{index}]: role"))?;
        let parts = list(content, "parts");
        check(!parts.is_empty(), format!("contents[{index}].parts: empty"))?;
        let answered = parts.iter().filter_map(|part| part.get("functionResponse"));
        let answered: Vec<_> = answered.collect();
        check(
            answered.len() == open.len(),
            "Please ensure that the number of function response parts is equal to the number of function call parts",
        )?;
        for (call, response) in open.iter().zip(&answered) {
            let fits = call["name"] == response["name"]
                && call.get("id") == response.get("id")
                && response["response"].is_object();
            check(fits, format!("contents[{index}]: {response} answers {call}"))?;
        }
        let calls = parts.iter().filter_map(|part| part.get("functionCall"));
        open = calls.collect();
    }
    check(open.is_empty(), "function calls without responses")
}

fn openai(headers: &HeaderMap, request: &Value) -> Checked {
    bearer(headers)?;
    check(request["model"].is_string(), "you must provide a model parameter")?;
    let limits = ["max_tokens", "max_completion_tokens"];
    let limits = limits.map(|name| request[name].as_u64());
    check(
        limits.iter().flatten().count() == 1 && !limits.contains(&Some(0)),
        "max_tokens must be positive",
    )?;
    tools(list(request, "tools"), |tool| {
        (tool["type"] == "function").then(|| (&tool["function"], &tool["function"]["parameters"]))
    })?;
    let messages = list(request, "messages");
    check(messages.first().is_some_and(|first| first["role"] == "system"), "no system message")?;
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            check(
                open.remove(id),
                format!("messages[{index}]: no preceding tool_calls with {id:?}"),
            )?;
            check(message["content"].is_string(), format!("messages[{index}].content is missing"))?;
            continue;
        }
        check(
            open.is_empty(),
            format!("messages[{index}]: tool_call_ids without response: {open:?}"),
        )?;
        check(
            ["system", "user", "assistant"].contains(&role),
            format!("messages[{index}]: role {role:?}"),
        )?;
        let calls = list(message, "tool_calls");
        let known = |part: &Value| part["text"].is_string() || part["image_url"]["url"].is_string();
        let parts = list(message, "content");
        let has_parts = role == "user" && !parts.is_empty() && parts.iter().all(known);
        check(
            message["content"].is_string() || has_parts || !calls.is_empty(),
            format!("messages[{index}]: no content"),
        )?;
        check(message.get("annotations").is_none(), "unknown parameter: annotations")?;
        for call in calls {
            let fits = call["type"] == "function" && call["function"]["arguments"].is_string();
            check(fits, format!("messages[{index}].tool_calls: {call}"))?;
            open.insert(call["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    check(open.is_empty(), format!("tool_call_ids without response: {open:?}"))
}

fn anthropic(headers: &HeaderMap, request: &Value) -> Checked {
    let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    if key.is_some_and(|key| key != KEY) {
        return Err((401, "invalid x-api-key".to_owned()));
    }
    check(
        headers.get("anthropic-version").is_some_and(is_version),
        "anthropic-version: header is required",
    )?;
    check(request["max_tokens"].as_u64() > Some(0), "max_tokens: field required")?;
    check(request["system"].is_string(), "system: expected a string")?;
    tools(list(request, "tools"), |tool| Some((tool, &tool["input_schema"])))?;
    let messages = list(request, "messages");
    let mut open: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        check(message["role"] == role, format!("messages.{index}: roles must alternate"))?;
        let content = list(message, "content");
        check(!content.is_empty(), format!("messages.{index}: content must not be empty"))?;
        let results = content.iter().take_while(|block| block["type"] == "tool_result");
        let results: Vec<_> =
            results.map(|block| block["tool_use_id"].as_str().unwrap_or_default()).collect();
        check(
            results == open,
            format!(
                "messages.{index}: tool_use ids {open:?} need tool_result blocks first, found {results:?}"
            ),
        )?;
        let rest = &content[results.len()..];
        check(
            rest.iter().all(|block| block["type"] != "tool_result"),
            format!("messages.{index}: tool_result after text"),
        )?;
        let uses = content.iter().filter(|block| block["type"] == "tool_use");
        open = uses.map(|block| block["id"].as_str().unwrap_or_default().to_owned()).collect();
    }
    check(messages.len() % 2 == 1, "the last message must be the user's")
}

/// Returns whether a version is a date from that of the first version on, as the real server requires.
fn is_version(value: &HeaderValue) -> bool {
    let day = value.to_str().unwrap_or_default();
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let lengths = day.split('-').map(str::len);
    lengths.eq([4, 2, 2]) && day.split('-').all(digits) && day >= "2023-06-01"
}

#[test]
fn later_versions_of_anthropics_protocol_are_taken() {
    for (day, is) in
        [("2023-06-01", true), ("2026-11-20", true), ("2023-01-01", false), ("latest", false)]
    {
        assert_eq!(is_version(&HeaderValue::from_static(day)), is, "{day}");
    }
}

/// Validates tools: names are plain and distinct, and schemas are of type object.
fn tools<'a>(
    tools: &'a [Value],
    open: impl Fn(&'a Value) -> Option<(&'a Value, &'a Value)>,
) -> Checked {
    let mut names = BTreeSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let Some((named, schema)) = open(tool) else {
            return check(false, format!("tools.{index}: {tool}"));
        };
        let name = named["name"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        check(
            (1..=64).contains(&name.len()) && name.chars().all(plain),
            format!("tools.{index}.name: {name:?}"),
        )?;
        check(names.insert(name), format!("tools.{index}.name: {name:?} is there twice"))?;
        check(
            schema["type"] == "object",
            format!("tools.{index}: the schema's type must be object"),
        )?;
        for member in ["anyOf", "oneOf", "allOf", "enum", "not"] {
            check(
                schema.get(member).is_none(),
                format!("tools.{index}: the schema has {member} at the top"),
            )?;
        }
        check(named["description"].is_string(), format!("tools.{index}: no description"))?;
    }
    Ok(())
}
