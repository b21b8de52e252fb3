//! Classifies the contents of requests and answers, in A2A 0.1, 0.2, 0.3, 1.0 and in MCP.
//!
//! It accepts everything: agents under test may send anything, and a transcript has to show it.

use serde_json::Value;

use super::{Content, rest};

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestKind<'a> {
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

impl<'a> RequestKind<'a> {
    /// Returns the tool that it calls.
    pub fn tool(&self) -> Option<&'a str> {
        match self {
            Self::Mcp { method: "tools/call", params } => (*params)?.get("name")?.as_str(),
            _ => None,
        }
    }

    /// Returns whether it asks for the state of a task, in any version.
    pub fn is_poll(&self) -> bool {
        matches!(self, Self::A2a("GetTask" | "tasks/get"))
    }

    /// Returns whether it sends a message, in any version.
    pub fn is_send(&self) -> bool {
        const NAMES: &str = "\
            SendMessage SendStreamingMessage message/send message/stream tasks/send \
            tasks/sendSubscribe";
        matches!(self, Self::A2a(name) if NAMES.split(' ').any(|one| one == *name))
    }

    /// Returns whether it cancels a task, in any version.
    pub fn is_cancel(&self) -> bool {
        matches!(self, Self::A2a("CancelTask" | "tasks/cancel"))
    }
}

/// An answer of A2A. Each variant holds the object itself, without its envelope or wrapper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<'a> {
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
pub struct JsonRpcError<'a> {
    /// The error's code.
    pub code: i64,
    /// Its message; empty if there is none.
    pub message: &'a str,
    /// Its `data`, if there is any.
    pub data: Option<&'a Value>,
}

/// Returns the purpose of a content. Replies and events count only if they contain a JSON-RPC request,
/// because MCP servers send requests and notifications that way.
pub fn ask(content: &Content) -> Option<RequestKind<'_>> {
    let rpc = content.body().and_then(|body| rpc_ask(body.json()?));
    match content {
        Content::Request { method, path, .. } => {
            Some(rpc.unwrap_or_else(|| http_ask(method, path)))
        }
        Content::Reply { .. } | Content::Event { .. } => rpc,
        Content::End | Content::Failure { .. } => None,
    }
}

/// Returns the id of the task that a request names in its path or parameters.
pub fn task_in_request(content: &Content) -> Option<&str> {
    let Content::Request { path, .. } = content else {
        return None;
    };
    match content.body().and_then(|body| body.json()) {
        None => rest::task_id(path),
        Some(body) => payload(body).get("id")?.as_str(),
    }
}

fn rpc_ask(body: &Value) -> Option<RequestKind<'_>> {
    let method = body.get("method")?.as_str()?;
    if is_mcp(method) {
        let params = body.get("params");
        Some(RequestKind::Mcp { method, params })
    } else {
        Some(RequestKind::A2a(method))
    }
}

fn http_ask<'a>(method: &str, path: &str) -> RequestKind<'a> {
    if rest::is_card(method, path) {
        return RequestKind::Card;
    }
    rest::operation(method, path).map_or(RequestKind::Other, RequestKind::A2a)
}

/// Returns whether a JSON-RPC method is MCP's. Both protocols have `tasks/...`, which counts as A2A's.
fn is_mcp(method: &str) -> bool {
    const WORDS: [&str; 2] = ["initialize", "ping"];
    const FAMILIES: &str = "\
        tools/ resources/ prompts/ notifications/ server/ completion/ logging/ sampling/ \
        elicitation/ roots/ subscriptions/";
    WORDS.contains(&method) || FAMILIES.split(' ').any(|family| method.starts_with(family))
}

/// Returns the content of a JSON-RPC envelope, `params` or `result`; a body without an envelope is returned
/// unchanged.
pub fn payload(body: &Value) -> &Value {
    let inner = match body.get("method") {
        Some(Value::String(_)) => body.get("params"),
        _ => body.get("result"),
    };
    inner.unwrap_or(body)
}

/// Returns whether a body is a JSON-RPC request, response or error, as opposed to a bare REST body.
pub fn is_rpc(body: &Value) -> bool {
    body.get("jsonrpc").is_some()
        || body.get("method").is_some_and(Value::is_string)
        || body.get("result").is_some()
}

/// Returns the JSON-RPC error in a body. REST errors show in their HTTP status and are not found here.
pub fn fault(body: &Value) -> Option<JsonRpcError<'_>> {
    let error = body.get("error").filter(|_| is_rpc(body))?;
    Some(JsonRpcError {
        code: error.get("code")?.as_i64()?,
        message: error.get("message").and_then(Value::as_str).unwrap_or(""),
        data: error.get("data").filter(|data| !data.is_null()),
    })
}

/// Returns the A2A answer in the body of a reply or an event, if it is one.
pub fn said(body: &Value) -> Option<Answer<'_>> {
    let answer = payload(body);
    by_kind(answer).or_else(|| by_wrapper(answer)).or_else(|| by_shape(answer))
}

/// Reads the form of 0.2 and 0.3, which have a `kind`.
fn by_kind(answer: &Value) -> Option<Answer<'_>> {
    match answer.get("kind")?.as_str()? {
        "task" => Some(Answer::Task(answer)),
        "status-update" => Some(Answer::Status(answer)),
        "artifact-update" => Some(Answer::Artifact(answer)),
        "message" => Some(Answer::Message(answer)),
        _ => None,
    }
}

/// Reads the form of 1.0, an object with one member as wrapper. (MCP has `task` too, but without `id`.)
fn by_wrapper(answer: &Value) -> Option<Answer<'_>> {
    let object = |name: &str| answer.get(name).filter(|inner| inner.is_object());
    object("task")
        .filter(|task| task.get("id").is_some())
        .map(Answer::Task)
        .or_else(|| object("statusUpdate").map(Answer::Status))
        .or_else(|| object("artifactUpdate").map(Answer::Artifact))
        .or_else(|| object("message").map(Answer::Message))
}

/// Reads the form of 0.1 and the bare Task of 1.0's GetTask, which are recognized by their members.
fn by_shape(answer: &Value) -> Option<Answer<'_>> {
    let has = |name: &str| answer.get(name).is_some();
    let is_object = |name: &str| answer.get(name).is_some_and(Value::is_object);
    if is_object("artifact") && (has("id") || has("taskId")) {
        Some(Answer::Artifact(answer))
    } else if is_object("status") && (has("final") || has("taskId")) {
        Some(Answer::Status(answer))
    } else if is_object("status") && has("id") {
        Some(Answer::Task(answer))
    } else if has("messageId") && has("parts") {
        Some(Answer::Message(answer))
    } else {
        None
    }
}

/// Returns the state of a task or a status update, by its A2A 0.3 name.
pub fn state(object: &Value) -> Option<String> {
    let state = object.pointer("/status/state").or(object.get("state"))?;
    state.as_str().map(state_word)
}

/// Returns the A2A 0.3 name of a state: `TASK_STATE_INPUT_REQUIRED` becomes `input-required`.
pub fn state_word(state: &str) -> String {
    match state.strip_prefix("TASK_STATE_") {
        Some("UNSPECIFIED") => "unknown".to_owned(),
        Some(name) => name.to_lowercase().replace('_', "-"),
        None => state.to_owned(),
    }
}

/// Returns an artifact's name, or its id if it has no name.
pub fn artifact_name(artifact: &Value) -> Option<&str> {
    let text = |key: &str| artifact.get(key)?.as_str().filter(|text| !text.is_empty());
    text("name").or_else(|| text("artifactId"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn responses_of_every_generation_are_distinguished() {
        let cases = [
            (json!({"id": "t", "status": {"state": "working"}}), "task"),
            (json!({"id": "t", "status": {"state": "working"}, "final": false}), "status"),
            (json!({"id": "t", "artifact": {"parts": []}}), "artifact"),
            (json!({"kind": "task", "id": "t", "status": {"state": "working"}}), "task"),
            (json!({"kind": "status-update", "taskId": "t"}), "status"),
            (json!({"kind": "artifact-update", "taskId": "t"}), "artifact"),
            (json!({"kind": "message", "parts": []}), "message"),
            (json!({"task": {"id": "t"}}), "task"),
            (json!({"statusUpdate": {"taskId": "t"}}), "status"),
            (json!({"artifactUpdate": {"taskId": "t"}}), "artifact"),
            (json!({"message": {"messageId": "m"}}), "message"),
            (json!({"task": {"taskId": "an MCP task", "status": "working"}}), "nothing"),
            (json!({"content": [], "isError": false}), "nothing"),
        ];
        for (answer, expected) in cases {
            let envelope = json!({"jsonrpc": "2.0", "id": 1, "result": answer});
            for body in [&answer, &envelope] {
                let found = match said(body) {
                    Some(Answer::Task(_)) => "task",
                    Some(Answer::Status(_)) => "status",
                    Some(Answer::Artifact(_)) => "artifact",
                    Some(Answer::Message(_)) => "message",
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
