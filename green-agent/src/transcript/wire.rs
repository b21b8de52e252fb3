//! Reads the wire: what a request asks and what an answer says, in A2A 0.1, 0.2, 0.3, 1.0 and in MCP.
//!
//! Nothing here insists: agents under test send what they like, and a transcript has to show it.

use serde_json::Value;

use super::{Content, rest};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask<'a> {
    /// An agent card, by GET.
    Card,
    /// An A2A operation: a JSON-RPC method as on the wire, a REST request by its operation's name.
    A2a(&'a str),
    /// An MCP method with its parameters.
    Mcp {
        /// The JSON-RPC method, such as `tools/call`.
        method: &'a str,
        /// Its `params`, if it has any.
        params: Option<&'a Value>,
    },
    /// Plain HTTP that is none of these.
    Other,
}

impl Ask<'_> {
    /// Whether it asks how a task stands, in any version.
    pub fn is_poll(&self) -> bool {
        matches!(self, Self::A2a("GetTask" | "tasks/get"))
    }
}

/// What an answer says; each holds the object itself, without the envelope or wrapper around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said<'a> {
    /// A whole task.
    Task(&'a Value),
    /// A status update event.
    Status(&'a Value),
    /// An artifact update event.
    Artifact(&'a Value),
    /// A message without a task.
    Message(&'a Value),
}

/// A JSON-RPC error object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault<'a> {
    /// The error's code.
    pub code: i64,
    /// Its message; empty if there is none.
    pub message: &'a str,
    /// Its `data`, if there is any.
    pub data: Option<&'a Value>,
}

/// What a content asks: of a request what it is for; of a reply or an event only what a JSON-RPC
/// request inside it asks, because MCP servers send requests and notifications that way.
pub fn ask(content: &Content) -> Option<Ask<'_>> {
    let rpc = content.body().and_then(|body| rpc_ask(body.json()?));
    match content {
        Content::Request { method, path, .. } => {
            Some(rpc.unwrap_or_else(|| http_ask(method, path)))
        }
        Content::Reply { .. } | Content::Event { .. } => rpc,
        Content::End | Content::Failure { .. } => None,
    }
}

/// The task that a request names as its own, in its path or parameters.
pub fn task_in_request(content: &Content) -> Option<&str> {
    let Content::Request { path, .. } = content else {
        return None;
    };
    match content.body().and_then(|body| body.json()) {
        None => rest::task_id(path),
        Some(body) => payload(body).get("id")?.as_str(),
    }
}

fn rpc_ask(body: &Value) -> Option<Ask<'_>> {
    let method = body.get("method")?.as_str()?;
    if is_mcp(method) {
        let params = body.get("params");
        Some(Ask::Mcp { method, params })
    } else {
        Some(Ask::A2a(method))
    }
}

fn http_ask<'a>(method: &str, path: &str) -> Ask<'a> {
    if rest::is_card(method, path) {
        return Ask::Card;
    }
    rest::operation(method, path).map_or(Ask::Other, Ask::A2a)
}

/// Whether a JSON-RPC method is MCP's. Both protocols have `tasks/...`; there A2A is meant.
fn is_mcp(method: &str) -> bool {
    const WORDS: [&str; 2] = ["initialize", "ping"];
    const FAMILIES: [&str; 11] = [
        "tools/",
        "resources/",
        "prompts/",
        "notifications/",
        "server/",
        "completion/",
        "logging/",
        "sampling/",
        "elicitation/",
        "roots/",
        "subscriptions/",
    ];
    WORDS.contains(&method) || FAMILIES.iter().any(|family| method.starts_with(family))
}

/// What is inside the JSON-RPC envelope: `params` or `result`; a body without envelope is itself.
pub fn payload(body: &Value) -> &Value {
    let inner = match body.get("method") {
        Some(Value::String(_)) => body.get("params"),
        _ => body.get("result"),
    };
    inner.unwrap_or(body)
}

/// Whether a body is a JSON-RPC request, response or error, as opposed to a bare REST body.
pub fn is_rpc(body: &Value) -> bool {
    body.get("jsonrpc").is_some()
        || body.get("method").is_some_and(Value::is_string)
        || body.get("result").is_some()
}

/// The JSON-RPC error in a body. REST errors are told by their HTTP status and are not found here.
pub fn fault(body: &Value) -> Option<Fault<'_>> {
    let error = body.get("error").filter(|_| is_rpc(body))?;
    Some(Fault {
        code: error.get("code")?.as_i64()?,
        message: error.get("message").and_then(Value::as_str).unwrap_or(""),
        data: error.get("data").filter(|data| !data.is_null()),
    })
}

/// What a reply's or an event's body says, if it is one of A2A's answers.
pub fn said(body: &Value) -> Option<Said<'_>> {
    let answer = payload(body);
    by_kind(answer)
        .or_else(|| by_wrapper(answer))
        .or_else(|| by_shape(answer))
}

/// 0.2 and 0.3 name what it is.
fn by_kind(answer: &Value) -> Option<Said<'_>> {
    match answer.get("kind")?.as_str()? {
        "task" => Some(Said::Task(answer)),
        "status-update" => Some(Said::Status(answer)),
        "artifact-update" => Some(Said::Artifact(answer)),
        "message" => Some(Said::Message(answer)),
        _ => None,
    }
}

/// 1.0 wraps it in an object with one member. (MCP has `task` too, without `id`.)
fn by_wrapper(answer: &Value) -> Option<Said<'_>> {
    let object = |name: &str| answer.get(name).filter(|inner| inner.is_object());
    object("task")
        .filter(|task| task.get("id").is_some())
        .map(Said::Task)
        .or_else(|| object("statusUpdate").map(Said::Status))
        .or_else(|| object("artifactUpdate").map(Said::Artifact))
        .or_else(|| object("message").map(Said::Message))
}

/// 0.1, and the bare Task of 1.0's GetTask, are told by their members.
fn by_shape(answer: &Value) -> Option<Said<'_>> {
    let has = |name: &str| answer.get(name).is_some();
    let is_object = |name: &str| answer.get(name).is_some_and(Value::is_object);
    if is_object("artifact") && (has("id") || has("taskId")) {
        Some(Said::Artifact(answer))
    } else if is_object("status") && (has("final") || has("taskId")) {
        Some(Said::Status(answer))
    } else if is_object("status") && has("id") {
        Some(Said::Task(answer))
    } else if has("messageId") && has("parts") {
        Some(Said::Message(answer))
    } else {
        None
    }
}

/// The state of a task or a status update, in the words of A2A 0.3.
pub fn state(object: &Value) -> Option<String> {
    let state = object.pointer("/status/state").or(object.get("state"))?;
    state.as_str().map(state_word)
}

/// A state in the words of A2A 0.3: `TASK_STATE_INPUT_REQUIRED` becomes `input-required`.
pub fn state_word(state: &str) -> String {
    match state.strip_prefix("TASK_STATE_") {
        Some("UNSPECIFIED") => "unknown".to_owned(),
        Some(name) => name.to_lowercase().replace('_', "-"),
        None => state.to_owned(),
    }
}

/// An artifact's name, or its id if it has no name.
pub fn artifact_name(artifact: &Value) -> Option<&str> {
    let text = |key: &str| artifact.get(key)?.as_str().filter(|text| !text.is_empty());
    text("name").or_else(|| text("artifactId"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_of_every_generation_are_told_apart() {
        let cases = [
            (json!({"id": "t", "status": {"state": "working"}}), "task"),
            (
                json!({"id": "t", "status": {"state": "working"}, "final": false}),
                "status",
            ),
            (json!({"id": "t", "artifact": {"parts": []}}), "artifact"),
            (
                json!({"kind": "task", "id": "t", "status": {"state": "working"}}),
                "task",
            ),
            (json!({"kind": "status-update", "taskId": "t"}), "status"),
            (
                json!({"kind": "artifact-update", "taskId": "t"}),
                "artifact",
            ),
            (json!({"kind": "message", "parts": []}), "message"),
            (json!({"task": {"id": "t"}}), "task"),
            (json!({"statusUpdate": {"taskId": "t"}}), "status"),
            (json!({"artifactUpdate": {"taskId": "t"}}), "artifact"),
            (json!({"message": {"messageId": "m"}}), "message"),
            (
                json!({"task": {"taskId": "an MCP task", "status": "working"}}),
                "nothing",
            ),
            (json!({"content": [], "isError": false}), "nothing"),
        ];
        for (answer, expected) in cases {
            let envelope = json!({"jsonrpc": "2.0", "id": 1, "result": answer});
            for body in [&answer, &envelope] {
                let found = match said(body) {
                    Some(Said::Task(_)) => "task",
                    Some(Said::Status(_)) => "status",
                    Some(Said::Artifact(_)) => "artifact",
                    Some(Said::Message(_)) => "message",
                    None => "nothing",
                };
                assert_eq!(found, expected, "{body}");
            }
        }
    }

    #[test]
    fn states_have_the_words_of_0_3() {
        for (state, word) in [
            ("TASK_STATE_WORKING", "working"),
            ("TASK_STATE_INPUT_REQUIRED", "input-required"),
            ("TASK_STATE_UNSPECIFIED", "unknown"),
            ("auth-required", "auth-required"),
        ] {
            assert_eq!(state_word(state), word);
        }
    }
}
