//! Labels: short names for the events of an entry, for `sequence` expectations and for progress.
//!
//! | event | its labels |
//! |-|-|
//! | an A2A request | `request:METHOD`, as on the wire; REST requests by the operation's name |
//! | a card is fetched | `request:card` |
//! | an MCP request | `mcp:METHOD`; of a tool call also `mcp:TOOL` and `mcp:tools/call:TOOL` |
//! | any other request | `request:GET /path` |
//! | a task is shown | `task:STATE` and `status:STATE`, then `artifact:NAME` for each artifact |
//! | a status update | `status:STATE` and `task:STATE` |
//! | an artifact update | `artifact:NAME`, or `artifact:ID` without a name |
//! | a bare message | `message` |
//! | a JSON-RPC error | `error:CODE` |
//! | an HTTP error | `http:STATUS` |
//! | a stream's end, a broken exchange | `end`, `failure` |

use serde_json::Value;

use super::{
    Content, Entry,
    wire::{self, Answer, RequestKind},
};

/// The labels without a colon.
pub const PLAIN: [&str; 3] = ["message", "end", "failure"];

/// The labels with a colon, by the part before it.
pub const KINDS: [&str; 7] = ["request", "mcp", "task", "status", "artifact", "error", "http"];

/// The A2A 0.3 names of task states, which follow `task:` and `status:`. [`UNKNOWN`] may follow too, but no
/// expectation can name it.
pub const STATES: [&str; 8] = [
    "submitted",
    "working",
    "input-required",
    "auth-required",
    "completed",
    "failed",
    "canceled",
    "rejected",
];

/// The label of a state that A2A 0.3 does not know.
pub const UNKNOWN: &str = "unknown";

/// One event that an entry shows, with all its labels, the most usual first.
pub type LabeledEvent = Vec<String>;

/// Returns all labels of an entry.
pub fn labels(entry: &Entry) -> Vec<String> {
    labeled_events(entry).into_iter().flatten().collect()
}

/// Returns the events that an entry shows. Labels of the same event are kept together, so that one call of a
/// tool does not count as two.
pub fn labeled_events(entry: &Entry) -> Vec<LabeledEvent> {
    let asked = wire::ask(&entry.content).map(|ask| of_ask(ask, &entry.content));
    asked.into_iter().chain(of_answer(&entry.content)).collect()
}

fn of_ask(ask: RequestKind<'_>, content: &Content) -> LabeledEvent {
    match (ask, content) {
        (RequestKind::Card, _) => vec!["request:card".to_owned()],
        (RequestKind::A2a(method), _) => vec![format!("request:{method}")],
        (RequestKind::Mcp { method, .. }, _) => {
            let tool = ask.tool();
            let named = tool.map(|tool| [format!("mcp:{tool}"), format!("mcp:{method}:{tool}")]);
            [format!("mcp:{method}")].into_iter().chain(named.into_iter().flatten()).collect()
        }
        (RequestKind::Other, Content::Request { method, path, .. }) => {
            vec![format!("request:{method} {path}")]
        }
        (RequestKind::Other, _) => Vec::new(),
    }
}

fn of_answer(content: &Content) -> Vec<LabeledEvent> {
    let body = content.body().and_then(|body| body.json());
    let of_body = body.into_iter().flat_map(of_body);
    match content {
        Content::Request { .. } => Vec::new(),
        Content::Reply { status: status @ 400.., .. } => {
            [vec![format!("http:{status}")]].into_iter().chain(of_body).collect()
        }
        Content::Reply { .. } | Content::Event { .. } => of_body.collect(),
        Content::End => vec![vec!["end".to_owned()]],
        Content::Failure { .. } => vec![vec!["failure".to_owned()]],
    }
}

fn of_body(body: &Value) -> Vec<LabeledEvent> {
    if let Some(fault) = wire::fault(body) {
        return vec![vec![format!("error:{}", fault.code)]];
    }
    match wire::said(body) {
        Some(Answer::Task(task)) => of_task(task),
        Some(Answer::Status(update)) => of_state(update, ["status", "task"]).into_iter().collect(),
        Some(Answer::Artifact(update)) => {
            update.get("artifact").map(of_artifact).into_iter().collect()
        }
        Some(Answer::Message(_)) => vec![vec!["message".to_owned()]],
        None => Vec::new(),
    }
}

fn of_task(task: &Value) -> Vec<LabeledEvent> {
    let artifacts = task.get("artifacts").and_then(Value::as_array);
    let artifacts = artifacts.into_iter().flatten().map(of_artifact);
    let state = of_state(task, ["task", "status"]);
    state.into_iter().chain(artifacts).collect()
}

fn of_state(object: &Value, names: [&str; 2]) -> Option<LabeledEvent> {
    let state = wire::state(object)?;
    Some(names.iter().map(|name| format!("{name}:{state}")).collect())
}

fn of_artifact(artifact: &Value) -> LabeledEvent {
    let name = wire::artifact_name(artifact).unwrap_or_default();
    vec![format!("artifact:{name}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{end, event, failure, reply, request, rpc};
    use serde_json::json;

    fn check(content: Content, expected: &[&str]) {
        let entry = crate::fixture::entry(content);
        assert_eq!(labels(&entry), expected, "{entry:?}");
    }

    #[test]
    fn requests_are_named_by_what_they_ask() {
        check(rpc("message/stream", json!({})), &["request:message/stream"]);
        check(rpc("SendMessage", json!({})), &["request:SendMessage"]);
        check(rpc("tasks/get", json!({})), &["request:tasks/get"]);
        check(rpc("initialize", json!({})), &["mcp:initialize"]);
        check(rpc("server/discover", json!({})), &["mcp:server/discover"]);
        check(rpc("tools/list", json!({})), &["mcp:tools/list"]);
        check(
            rpc("tools/call", json!({"name": "echo"})),
            &["mcp:tools/call", "mcp:echo", "mcp:tools/call:echo"],
        );
        check(
            request("POST", "/v1/message:stream", Some(json!({"message": {}}))),
            &["request:SendStreamingMessage"],
        );
        check(request("GET", "/.well-known/agent-card.json", None), &["request:card"]);
        check(request("GET", "/metrics", None), &["request:GET /metrics"]);
    }

    #[test]
    fn answers_are_named_by_what_they_say() {
        let task = json!({
            "id": "t", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "a", "name": "Result"}, {"artifactId": "b"}],
        });
        let all = ["task:completed", "status:completed", "artifact:Result", "artifact:b"];
        check(reply(200, json!({"jsonrpc": "2.0", "id": 1, "result": {"task": task}})), &all);
        check(reply(200, task), &all);
        check(
            event(
                json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}}),
            ),
            &["status:input-required", "task:input-required"],
        );
        check(
            event(json!({"id": "t", "artifact": {"name": "Result", "parts": []}})),
            &["artifact:Result"],
        );
        check(reply(200, json!({"message": {"messageId": "m", "parts": []}})), &["message"]);
        check(
            reply(
                401,
                json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "who?"}}),
            ),
            &["http:401", "error:-32001"],
        );
        check(reply(404, json!({"error": {"code": 404, "status": "NOT_FOUND"}})), &["http:404"]);
        check(end(), &["end"]);
        check(failure("connection refused"), &["failure"]);
    }

    #[test]
    fn messages_in_an_mcp_stream_have_labels() {
        check(
            event(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})),
            &["mcp:notifications/progress"],
        );
    }

    #[test]
    fn the_reference_page_describes_each_kind_of_label() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/labels.md");
        let page = std::fs::read_to_string(page).unwrap();
        let with_colon = KINDS.map(|kind| format!("`{kind}:"));
        let plain = PLAIN.map(|name| format!("`{name}`"));
        let states = STATES.map(|state| format!("`{state}`"));
        for label in with_colon.iter().chain(&plain).chain(&states) {
            assert!(page.contains(label), "{label} is missing");
        }
    }
}
