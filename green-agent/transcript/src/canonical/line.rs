//! The lines of an exchange in a snapshot, before ids are renamed.

use serde_json::{Value, json};

use super::{
    exchange::{Exchange, task_in_request},
    redact,
    rename::Kind,
    text,
};
use crate::{
    Body, Content, Entry,
    label::labels,
    wire::{self, JsonRpcError, RequestKind},
};

/// A line with `>` or `<`, and the body below it.
pub(super) struct Line {
    /// `>` for requests, `<` for answers.
    pub(super) arrow: char,
    /// The text after the arrow.
    pub(super) title: String,
    pub(super) shown: Option<ShownBody>,
    /// Ids whose kind is known only from their place.
    pub(super) ids: Vec<(Kind, String)>,
}

/// A body in the form in which it is shown.
pub(super) enum ShownBody {
    /// JSON, printed with sorted keys.
    Json(Value),
    /// Text, printed unchanged.
    Text(String),
}

/// Returns the lines of an exchange. Bodies are redacted here, before renaming, so that redacted ids get no
/// number.
pub(super) fn lines(exchange: &Exchange<'_>, redact: &[String]) -> Vec<Line> {
    let request = exchange.request.map(|entry| request(exchange, entry, redact));
    let streams = exchange.answers.len() > 1;
    // A 200 without a body, the head of a stream, adds nothing to the events that follow.
    let is_head =
        |entry: &Entry| matches!(entry.content, Content::Reply { status: 200, body: None, .. });
    let answers = exchange.answers.iter().filter(|entry| !(streams && is_head(entry)));
    let answers = answers.map(|entry| answer(entry, redact));
    request.into_iter().chain(answers).collect()
}

fn request(exchange: &Exchange<'_>, entry: &Entry, redact: &[String]) -> Line {
    let body = entry.content.body();
    let id = body.and_then(|body| envelope_id(body.json()?));
    let task =
        matches!(exchange.ask(), Some(RequestKind::A2a(method)) if !method.contains("PushNotification"))
            .then(|| task_in_request(exchange))
            .flatten();
    Line {
        arrow: '>',
        title: request_title(&entry.content),
        shown: body.and_then(|body| shown(body, redact)),
        ids: [task.map(|id| (Kind::Task, id)), id].into_iter().flatten().collect(),
    }
}

fn envelope_id(body: &Value) -> Option<(Kind, String)> {
    let id = body.get("id").filter(|_| wire::is_rpc(body))?.as_str()?;
    text::is_uuid(id).then(|| (Kind::Request, id.to_owned()))
}

/// Returns a request's title: the JSON-RPC method, or the HTTP method and path.
fn request_title(content: &Content) -> String {
    let method = |body: &Body| Some(body.json()?.get("method")?.as_str()?.to_owned());
    let Content::Request { method: verb, path, body, .. } = content else {
        return String::new();
    };
    body.as_ref().and_then(method).unwrap_or_else(|| format!("{verb} {path}"))
}

fn answer(entry: &Entry, redact: &[String]) -> Line {
    let (title, shown) = match &entry.content {
        Content::Request { .. } => (String::new(), None),
        Content::Reply { status, body, .. } => {
            let title = match (status, body) {
                (200, Some(_)) => body_title(entry),
                (_, Some(_)) => format!("http {status} {}", body_title(entry)),
                (_, None) => format!("http {status}"),
            };
            (title, body_shown(body.as_ref(), redact))
        }
        Content::Event { body, .. } => (body_title(entry), body_shown(body.as_ref(), redact)),
        Content::End => ("end".to_owned(), None),
        Content::Failure { error } => (format!("failure: {}", text::failure(error)), None),
    };
    Line { arrow: '<', title, shown, ids: Vec::new() }
}

/// Returns a short title for a body: an error, a request by the server, a label, or `result`.
fn body_title(entry: &Entry) -> String {
    let body = entry.content.body().and_then(Body::json);
    if let Some(JsonRpcError { code, message, .. }) = body.and_then(wire::fault) {
        return format!("error {code} {message}").trim_end().to_owned();
    }
    if let Some(method) = body.and_then(|body| body.get("method")?.as_str()) {
        return method.to_owned();
    }
    let said = labels(entry).into_iter().find(|label| !label.starts_with("http:"));
    said.unwrap_or_else(|| "result".to_owned())
}

fn body_shown(body: Option<&Body>, redact: &[String]) -> Option<ShownBody> {
    match body?.json().and_then(wire::fault) {
        Some(fault) => fault.data.map(|data| ShownBody::Json(data.clone())),
        None => shown(body?, redact),
    }
}

pub(super) fn shown(body: &Body, redact: &[String]) -> Option<ShownBody> {
    match body {
        Body::Json(body) => {
            let body = redact::redacted(body, redact);
            let payload = wire::payload(&body);
            // A request without parameters has only its method; a JSON-RPC envelope is never shown.
            let bare = std::ptr::eq(payload, &body) && wire::is_rpc(&body);
            (!bare && *payload != json!({})).then(|| ShownBody::Json(payload.clone()))
        }
        Body::Text(text) => (!text.trim().is_empty()).then(|| ShownBody::Text(text.clone())),
        Body::Omitted { bytes, why, sha256 } => Some(ShownBody::Text(match sha256 {
            Some(sha256) => format!("<omitted: {why}, {bytes} bytes, SHA-256 {sha256}>"),
            None => format!("<omitted: {why}>"),
        })),
    }
}
