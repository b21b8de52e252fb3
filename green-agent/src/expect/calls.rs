//! Calls of MCP tools, read from a transcript.

use serde_json::{Value, json};

use crate::transcript::{
    Entry,
    wire::{self, Ask},
};

/// One call of a tool.
pub(super) struct Call {
    /// `{arguments, result}`, or `{arguments, error}` with the JSON-RPC error, or only `arguments`
    /// where no answer came.
    pub(super) value: Value,
    /// The `seq` of the request and of the answer.
    pub(super) at: Vec<u64>,
}

/// The calls of a tool, in order of their requests.
pub(super) fn calls(entries: &[Entry], tool: &str) -> Vec<Call> {
    let requests = entries.iter().filter(|entry| called(entry) == Some(tool));
    requests.map(|request| call(request, entries)).collect()
}

/// The names of all tools that were called, each once, in order of name.
pub(super) fn tools(entries: &[Entry]) -> Vec<&str> {
    let mut tools: Vec<&str> = entries.iter().filter_map(called).collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

fn called(entry: &Entry) -> Option<&str> {
    match wire::ask(&entry.content)? {
        Ask::Mcp {
            method: "tools/call",
            params,
        } => params?.get("name")?.as_str(),
        Ask::Mcp { .. } | Ask::Card | Ask::A2a(_) | Ask::Other => None,
    }
}

fn call(request: &Entry, entries: &[Entry]) -> Call {
    let asked = request.content.body().and_then(|body| body.json());
    let arguments = asked.and_then(|body| body.pointer("/params/arguments"));
    let mut value = json!({"arguments": arguments.unwrap_or(&json!({}))});
    let mut at = vec![request.seq];
    let id = asked.and_then(|body| body.get("id"));
    if let Some((answer, member, content)) = answer(request, id, entries) {
        value[member] = content.clone();
        at.push(answer.seq);
    }
    Call { value, at }
}

/// The answer with the request's id: a plain reply, or one event among notifications.
fn answer<'a>(
    request: &Entry,
    id: Option<&Value>,
    entries: &'a [Entry],
) -> Option<(&'a Entry, &'static str, &'a Value)> {
    let of_exchange = entries
        .iter()
        .filter(|entry| entry.exchange == request.exchange && entry.seq > request.seq);
    of_exchange.into_iter().find_map(|entry| {
        let body = entry.content.body()?.json()?;
        let member = ["result", "error"]
            .into_iter()
            .find(|member| body.get(member).is_some())?;
        let answers = body.get("id") == id;
        answers.then(|| (entry, member, &body[member]))
    })
}
