//! MCP exchanges in a snapshot: calls and their answers, independent of the transport's version.
//!
//! Depending on the version, the handshake is `initialize` or `server/discover`, and a client may try both; a
//! POST is answered by a body or by a stream of one event. These differences are not shown. That a server
//! refused a caller is shown.

use serde_json::{Map, Value};

use super::{
    exchange::Exchange,
    line::{Line, ShownBody},
    text,
};
use crate::{Content, Entry, label::labels, wire::RequestKind};

/// One item of a hop in the snapshot.
pub(super) enum SnapshotItem<'a> {
    /// An exchange, unchanged.
    Exchange(Exchange<'a>),
    /// Consecutive handshakes, with the error if none succeeded.
    Connect(Option<String>),
}

/// Merges handshakes, and removes unchanged lists of tools.
pub(super) fn fold(exchanges: Vec<Exchange<'_>>) -> Vec<SnapshotItem<'_>> {
    let mut blocks: Vec<SnapshotItem<'_>> = Vec::new();
    let mut tools = None;
    for exchange in exchanges.into_iter().map(without_end) {
        match (method(&exchange), trouble(&exchange.answers)) {
            (Some("initialize" | "server/discover"), trouble) => connect(&mut blocks, trouble),
            (Some("notifications/initialized"), None) => {}
            (Some("tools/list"), None) => {
                let answer = response(&exchange.answers).cloned();
                if answer.is_none() || answer != tools {
                    tools = answer;
                    blocks.push(SnapshotItem::Exchange(exchange));
                }
            }
            (_, _) => blocks.push(SnapshotItem::Exchange(exchange)),
        }
    }
    blocks
}

/// Removes the end of a stream after the call was answered: the client may close it first.
fn without_end(mut exchange: Exchange<'_>) -> Exchange<'_> {
    if method(&exchange).is_some() && response(&exchange.answers).is_some() {
        exchange
            .answers
            .retain(|entry| !matches!(entry.content, Content::End | Content::Failure { .. }));
    }
    exchange
}

/// Returns the answer to a call: a JSON-RPC result or error, in a body or in an event.
fn response<'a>(answers: &[&'a Entry]) -> Option<&'a Value> {
    answers.iter().find_map(|entry| {
        let body = entry.content.body()?.json()?;
        body.get("result").or(body.get("error"))
    })
}

/// Adds a handshake, merged with the one before it. An error is dropped if the next handshake succeeds,
/// because that was a negotiation, unless the server refused the caller; equal errors are shown once.
fn connect(blocks: &mut Vec<SnapshotItem<'_>>, trouble: Option<String>) {
    match blocks.last_mut() {
        Some(SnapshotItem::Connect(last)) if *last == trouble => {}
        Some(SnapshotItem::Connect(last))
            if last.as_ref().is_some_and(|last| !is_refusal(last)) =>
        {
            *last = trouble;
        }
        Some(SnapshotItem::Connect(_) | SnapshotItem::Exchange(_)) | None => {
            blocks.push(SnapshotItem::Connect(trouble));
        }
    }
}

fn is_refusal(trouble: &str) -> bool {
    matches!(trouble, "http 401" | "http 403")
}

/// Returns the MCP method of an exchange's request.
pub(super) fn method<'a>(exchange: &Exchange<'a>) -> Option<&'a str> {
    match exchange.ask()? {
        RequestKind::Mcp { method, .. } => Some(method),
        RequestKind::Card | RequestKind::A2a(_) | RequestKind::Other => None,
    }
}

fn trouble(answers: &[&Entry]) -> Option<String> {
    answers.iter().find_map(|entry| match &entry.content {
        Content::Failure { error } => Some(format!("failure: {}", text::failure(error))),
        Content::Request { .. } | Content::Reply { .. } | Content::Event { .. } | Content::End => {
            let is_trouble =
                |label: &String| label.starts_with("http:") || label.starts_with("error:");
            let label = labels(entry).into_iter().find(is_trouble)?;
            Some(label.replace(':', " "))
        }
    })
}

/// Returns the lines for handshakes.
pub(super) fn connect_lines(trouble: Option<String>) -> Vec<Line> {
    let line = |arrow, title| Line { arrow, title, shown: None, ids: Vec::new() };
    let trouble = trouble.map(|trouble| line('<', trouble));
    [line('>', "connect".to_owned())].into_iter().chain(trouble).collect()
}

/// Removes the parts of an exchange's lines that belong to the transport: in `_meta`, the client's self-description and
/// an unused progress token.
pub(super) fn without_transport(mut lines: Vec<Line>) -> Vec<Line> {
    let progress = lines.iter().any(|line| line.title == "notifications/progress");
    for line in &mut lines {
        if let Some(ShownBody::Json(Value::Object(members))) = &mut line.shown {
            leave_meta(members, progress);
            if members.is_empty() {
                line.shown = None;
            }
        }
    }
    lines
}

fn leave_meta(members: &mut Map<String, Value>, progress: bool) {
    let Some(Value::Object(meta)) = members.get_mut("_meta") else {
        return;
    };
    meta.retain(|name, _| {
        !name.starts_with("io.modelcontextprotocol/") && (progress || name != "progressToken")
    });
    if meta.is_empty() {
        members.remove("_meta");
    }
}
