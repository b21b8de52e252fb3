//! MCP as a snapshot shows it: what was called and answered, and not by which version of the transport.
//!
//! The handshake is `initialize` in one era and `server/discover` in the other, and a client may try
//! both; a POST is answered by a body or by a stream of one event. None of that is behaviour. That a
//! server refused somebody is.

use serde_json::{Map, Value};

use super::{
    exchange::Exchange,
    line::{Line, Shown},
    text,
};
use crate::transcript::{Content, Entry, label::labels, wire::Ask};

/// What the snapshot shows of a hop, piece by piece.
pub(super) enum Block<'a> {
    /// An exchange as it was.
    Exchange(Exchange<'a>),
    /// Handshakes that came one after the other, with what went wrong if nobody was let in.
    Connect(Option<String>),
}

/// Puts handshakes together, and leaves out lists of tools that are as they were.
pub(super) fn fold(exchanges: Vec<Exchange<'_>>) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut tools = None;
    for exchange in exchanges.into_iter().map(without_end) {
        match (method(&exchange), trouble(&exchange.answers)) {
            (Some("initialize" | "server/discover"), trouble) => connect(&mut blocks, trouble),
            (Some("notifications/initialized"), None) => {}
            (Some("tools/list"), None) => {
                let answer = response(&exchange.answers).cloned();
                if answer.is_none() || answer != tools {
                    tools = answer;
                    blocks.push(Block::Exchange(exchange));
                }
            }
            (_, _) => blocks.push(Block::Exchange(exchange)),
        }
    }
    blocks
}

/// Once a call is answered, how its stream ends says nothing: the client may close it first.
fn without_end(mut exchange: Exchange<'_>) -> Exchange<'_> {
    if method(&exchange).is_some() && response(&exchange.answers).is_some() {
        exchange
            .answers
            .retain(|entry| !matches!(entry.content, Content::End | Content::Failure { .. }));
    }
    exchange
}

/// What a call was answered with: a JSON-RPC result or error, wherever it came.
fn response<'a>(answers: &[&'a Entry]) -> Option<&'a Value> {
    answers.iter().find_map(|entry| {
        let body = entry.content.body()?.json()?;
        body.get("result").or(body.get("error"))
    })
}

/// Adds a handshake to the one before it. Trouble that the next one overcame was a negotiation, unless
/// the server had refused the caller; the same twice is once.
fn connect(blocks: &mut Vec<Block<'_>>, trouble: Option<String>) {
    match blocks.last_mut() {
        Some(Block::Connect(last)) if *last == trouble => {}
        Some(Block::Connect(last)) if last.as_ref().is_some_and(|last| !is_refusal(last)) => {
            *last = trouble;
        }
        Some(Block::Connect(_) | Block::Exchange(_)) | None => {
            blocks.push(Block::Connect(trouble));
        }
    }
}

fn is_refusal(trouble: &str) -> bool {
    matches!(trouble, "http 401" | "http 403")
}

/// The MCP method that an exchange's request calls.
pub(super) fn method<'a>(exchange: &Exchange<'a>) -> Option<&'a str> {
    match exchange.ask()? {
        Ask::Mcp { method, .. } => Some(method),
        Ask::Card | Ask::A2a(_) | Ask::Other => None,
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

/// The lines of handshakes.
pub(super) fn connect_lines(trouble: Option<String>) -> Vec<Line> {
    let line = |arrow, title| Line {
        arrow,
        title,
        shown: None,
        ids: Vec::new(),
    };
    let trouble = trouble.map(|trouble| line('<', trouble));
    [line('>', "connect".to_owned())]
        .into_iter()
        .chain(trouble)
        .collect()
}

/// The lines of an exchange without what only its transport put there: in `_meta` the client's
/// introduction and a token for progress that nobody reported.
pub(super) fn without_transport(mut lines: Vec<Line>) -> Vec<Line> {
    let progress = lines
        .iter()
        .any(|line| line.title == "notifications/progress");
    for line in &mut lines {
        if let Some(Shown::Json(Value::Object(members))) = &mut line.shown {
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
