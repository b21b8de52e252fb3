//! The columns of the list of messages for one entry of a transcript, so that the page need not read the messages
//! themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use green_agent_transcript::{
    Body, Content, Direction, Entry,
    label::labels,
    wire::{self, RequestKind},
};

use super::departures::Departures;

/// The most characters of a message's gist.
const GIST: usize = 110;

/// The deepest nesting in which a gist is searched.
const DEEPEST: usize = 24;

/// The message is passed back to the caller.
pub(super) const BACK: u8 = 1;
/// The message is or reports an error.
pub(super) const FAULT: u8 = 2;
/// The same message was sent before.
pub(super) const RETRY: u8 = 4;

/// The protocols, in the order of the numbers that the script knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    A2a,
    Mcp,
    Card,
    Activity,
    Registry,
    Model,
    Http,
}

/// One message of the list.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) protocol: Protocol,
    pub(super) flags: u8,
    pub(super) label: String,
    pub(super) gist: String,
}

/// Reads a transcript in order, because the kind of an answer depends on its request.
#[derive(Default)]
pub(super) struct Messages {
    protocols: BTreeMap<u64, Protocol>,
    /// The requests that are open or failed, by exchange, with a digest of their content.
    requests: BTreeMap<u64, [u8; 16]>,
    failed: BTreeSet<[u8; 16]>,
    message_ids: BTreeSet<[u8; 16]>,
    departures: Departures,
}

impl Messages {
    pub(super) fn read(&mut self, entry: &Entry) -> Message {
        let protocol = self.protocol(entry);
        let label = label(&entry.content);
        let has_left = matches!(protocol, Protocol::Mcp | Protocol::Http)
            && self.departures.is_one(entry, protocol == Protocol::Mcp);
        let is_fault = is_fault(&entry.content) && !has_left;
        let mut flags = 0;
        if entry.direction == Direction::Back {
            flags |= BACK;
        }
        if is_fault {
            flags |= FAULT;
            let failed = self.requests.get(&entry.exchange);
            self.failed.extend(failed);
        }
        if matches!(entry.content, Content::Request { .. }) && self.is_retry(entry) {
            flags |= RETRY;
        }
        Message {
            kind: kind(&entry.content),
            protocol,
            flags,
            gist: gist(&entry.content),
            label: label.unwrap_or_else(|| plain_label(&entry.content, &labels(entry))),
        }
    }

    /// Returns the protocol of the request that began the exchange.
    fn protocol(&mut self, entry: &Entry) -> Protocol {
        let known = self.protocols.get(&entry.exchange).copied();
        known.unwrap_or_else(|| {
            let found = protocol(&entry.content);
            self.protocols.insert(entry.exchange, found);
            found
        })
    }

    /// Returns whether a request was sent before: an A2A message with an id that was sent, or any request like one that
    /// failed.
    fn is_retry(&mut self, entry: &Entry) -> bool {
        let Content::Request { method, path, body, .. } = &entry.content else {
            return false;
        };
        let hop = entry.hop.to_string();
        let body = body.as_ref().and_then(Body::json);
        let message_id =
            body.and_then(|body| wire::payload(body).pointer("/message/messageId")?.as_str());
        let was_sent = message_id.is_some_and(|id| !self.message_ids.insert(digest(&[&hop, id])));
        let asked = body.map(|body| wire::payload(body).to_string()).unwrap_or_default();
        let request = digest(&[&hop, method, path, &asked]);
        self.requests.insert(entry.exchange, request);
        was_sent || self.failed.remove(&request)
    }
}

/// Returns a short digest of texts.
fn digest(texts: &[&str]) -> [u8; 16] {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    }
    let mut short = [0; 16];
    short.copy_from_slice(&digest.finalize()[..16]);
    short
}

fn kind(content: &Content) -> u8 {
    match content {
        Content::Request { .. } => 0,
        Content::Reply { .. } => 1,
        Content::Event { .. } => 2,
        Content::End => 3,
        Content::Failure { .. } => 4,
    }
}

fn protocol(content: &Content) -> Protocol {
    match wire::ask(content) {
        Some(RequestKind::Card) => Protocol::Card,
        Some(RequestKind::A2a(_)) => Protocol::A2a,
        Some(RequestKind::Mcp { .. }) => Protocol::Mcp,
        Some(RequestKind::Other) | None => other_protocol(content),
    }
}

/// Returns the protocol of a request without a known method, by path and body.
fn other_protocol(content: &Content) -> Protocol {
    let Content::Request { path, body, .. } = content else {
        return Protocol::Http;
    };
    let path = path.split('?').next().unwrap_or_default();
    let is_activity =
        |body: &Value| body.get("type").is_some_and(Value::is_string) && body.get("from").is_some();
    let body = body.as_ref().and_then(Body::json);
    if path.ends_with("/api/messages")
        || path.contains("/v3/conversations")
        || body.is_some_and(is_activity)
    {
        Protocol::Activity
    } else if path.ends_with("/completions")
        || path.ends_with("/responses")
        || path.contains(":generateContent")
    {
        Protocol::Model
    } else if path == "/v2" || path.starts_with("/v2/") || path.starts_with("/v0/servers") {
        Protocol::Registry
    } else {
        Protocol::Http
    }
}

/// Returns the name of a request in its protocol; `None` for everything else.
fn label(content: &Content) -> Option<String> {
    let asked = wire::ask(content)?;
    Some(match (asked, content) {
        (RequestKind::Card, _) => "agent card".to_owned(),
        (RequestKind::A2a(method), _) => method.to_owned(),
        (RequestKind::Mcp { method, params }, _) => {
            let tool = params.and_then(|params| params.get("name")?.as_str());
            tool.map_or_else(|| method.to_owned(), |tool| format!("{method} {tool}"))
        }
        (RequestKind::Other, Content::Request { method, path, .. }) => format!("{method} {path}"),
        (RequestKind::Other, _) => return None,
    })
}

/// Returns the text for an answer: its labels, or its status.
fn plain_label(content: &Content, labels: &[String]) -> String {
    // `status:STATE` repeats `task:STATE`, and vice versa.
    let mut shown: Vec<&str> = Vec::new();
    for label in labels {
        let (kind, rest) = label.split_once(':').unwrap_or((label, ""));
        let twin = |kind: &str| shown.iter().any(|one| one.split_once(':') == Some((kind, rest)));
        if (kind == "status" && twin("task")) || (kind == "task" && twin("status")) {
            continue;
        }
        shown.push(label);
    }
    match content {
        _ if !shown.is_empty() => shown.join(", "),
        Content::Reply { status, .. } => status.to_string(),
        Content::Event { event, .. } => event.clone().unwrap_or_else(|| "event".to_owned()),
        Content::Request { .. } | Content::End | Content::Failure { .. } => String::new(),
    }
}

/// Returns whether a message is or reports an error.
fn is_fault(content: &Content) -> bool {
    let body = content.body().and_then(Body::json);
    let is_shown = body.is_some_and(|body| {
        wire::fault(body).is_some()
            || body.pointer("/result/isError").is_some_and(|error| error == true)
            || says_failed(body)
    });
    match content {
        Content::Failure { .. } => true,
        Content::Reply { status, .. } => *status >= 400 || is_shown,
        Content::Event { .. } => is_shown,
        Content::Request { .. } | Content::End => false,
    }
}

fn says_failed(body: &Value) -> bool {
    use wire::Answer::{Artifact, Message, Status, Task};
    match wire::said(body) {
        Some(Task(said) | Status(said)) => {
            wire::state(said).is_some_and(|state| state == "failed" || state == "rejected")
        }
        Some(Artifact(_) | Message(_)) | None => false,
    }
}

/// Returns the beginning of a message's text, on one line.
fn gist(content: &Content) -> String {
    match content {
        Content::Failure { error } => shortened(error),
        Content::End => String::new(),
        Content::Request { body, .. }
        | Content::Reply { body, .. }
        | Content::Event { body, .. } => body.as_ref().map(gist_of_body).unwrap_or_default(),
    }
}

fn gist_of_body(body: &Body) -> String {
    match body {
        Body::Text(text) => shortened(text),
        Body::Omitted { bytes, why, .. } => format!("{bytes} bytes not kept: {why}"),
        Body::Json(body) => {
            let inner = wire::payload(body);
            if let Some(fault) = wire::fault(body) {
                return shortened(fault.message);
            }
            if let Some(arguments) = inner.get("arguments") {
                return shortened(&arguments.to_string());
            }
            let name = || inner.get("skills").and(inner.get("name"))?.as_str();
            let text = name().or_else(|| first(inner, "text", 0)?.as_str());
            if let Some(text) = text {
                return shortened(text);
            }
            first(inner, "data", 0).map(|data| shortened(&data.to_string())).unwrap_or_default()
        }
    }
}

/// Returns the first member of this name with a text, in the order of the document.
fn first<'a>(value: &'a Value, name: &str, depth: usize) -> Option<&'a Value> {
    if depth > DEEPEST {
        return None;
    }
    match value {
        Value::Object(members) => {
            let own = members.get(name).filter(|own| match own {
                Value::String(text) => !text.trim().is_empty(),
                Value::Object(members) => !members.is_empty(),
                Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
            });
            let inner = members.iter().filter(|(key, _)| *key != "history" && *key != "metadata");
            own.or_else(|| {
                inner.map(|(_, member)| member).find_map(|member| first(member, name, depth + 1))
            })
        }
        Value::Array(items) => items.iter().find_map(|item| first(item, name, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns the beginning of a text, with its white space replaced by single blanks.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        // A word may be as long as a message.
        short.extend(word.chars().take(GIST));
        if short.chars().count() >= GIST {
            return short.chars().take(GIST).collect();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use green_agent_transcript::fixture::{entry, event, failure, reply, request, rpc};
    use serde_json::json;

    fn read(content: Content) -> Message {
        Messages::default().read(&entry(content))
    }

    fn check(content: Content, protocol: Protocol, label: &str, gist: &str) {
        let message = read(content);
        assert_eq!(
            (message.protocol, message.label.as_str(), message.gist.as_str()),
            (protocol, label, gist)
        );
    }

    #[test]
    fn messages_are_named_in_the_words_of_their_protocol() {
        let said = json!({"message": {"messageId": "m", "parts": [{"kind": "text", "text": "  Hello\n there "}]}});
        check(rpc("message/send", said), Protocol::A2a, "message/send", "Hello there");
        let call = json!({"name": "order", "arguments": {"mugs": 2}});
        check(rpc("tools/call", call), Protocol::Mcp, "tools/call order", "{\"mugs\":2}");
        check(
            request("GET", "/.well-known/agent-card.json", None),
            Protocol::Card,
            "agent card",
            "",
        );
        let activity = json!({"type": "message", "from": {"id": "u"}, "text": "hi"});
        check(
            request("POST", "/api/messages", Some(activity)),
            Protocol::Activity,
            "POST /api/messages",
            "hi",
        );
        check(
            request("GET", "/v2/agents/tags/list", None),
            Protocol::Registry,
            "GET /v2/agents/tags/list",
            "",
        );
        check(
            request("POST", "/v1/chat/completions", None),
            Protocol::Model,
            "POST /v1/chat/completions",
            "",
        );
        check(
            event(
                json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}}),
            ),
            Protocol::Http,
            "status:working",
            "",
        );
    }

    #[test]
    fn faults_are_distinguished_from_answers() {
        let is_fault = |content| read(content).flags & FAULT != 0;
        assert!(is_fault(failure("connection refused")));
        assert!(is_fault(reply(502, json!({}))));
        assert!(is_fault(reply(
            200,
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}})
        )));
        assert!(is_fault(reply(
            200,
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": true}})
        )));
        assert!(is_fault(event(
            json!({"statusUpdate": {"taskId": "t", "status": {"state": "failed"}}})
        )));
        assert!(!is_fault(reply(200, json!({"id": "t", "status": {"state": "completed"}}))));
    }

    #[test]
    fn a_message_that_is_sent_again_is_a_retry_and_a_poll_is_none() {
        let mut messages = Messages::default();
        let mut flags = |exchange, content| {
            let entry = Entry { exchange, ..entry(content) };
            messages.read(&entry).flags & RETRY != 0
        };
        let send = || rpc("message/send", json!({"message": {"messageId": "m", "parts": []}}));
        assert!(!flags(1, send()));
        assert!(flags(2, send()));
        let poll = || rpc("tasks/get", json!({"id": "t"}));
        assert!(!flags(3, poll()));
        assert!(!flags(4, poll()));
        assert!(!flags(4, failure("reset")));
        assert!(flags(5, poll()));
        assert!(!flags(6, poll()));
    }

    #[test]
    fn a_gist_is_short_whatever_was_said() {
        let long = "x".repeat(5_000_000);
        let message = read(rpc("message/send", json!({"message": {"parts": [{"text": long}]}})));
        assert_eq!(message.gist.len(), GIST);
    }
}
