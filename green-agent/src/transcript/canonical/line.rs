//! The lines of an exchange: what is shown of each entry, before anything is renamed.

use serde_json::{Value, json};

use super::{
    exchange::{Exchange, task_in_request},
    redact,
    rename::Kind,
    text,
};
use crate::transcript::{
    Body, Content, Entry,
    label::labels,
    wire::{self, Ask, Fault},
};

/// One `>` or `<` line and what stands below it.
pub(super) struct Line {
    /// `>` for requests, `<` for what came back.
    pub(super) arrow: char,
    /// What it is.
    pub(super) title: String,
    /// Its body, if there is something to show.
    pub(super) shown: Option<Shown>,
    /// Ids whose kind only this place tells.
    pub(super) ids: Vec<(Kind, String)>,
}

/// A body as it is shown.
pub(super) enum Shown {
    /// Printed with sorted keys.
    Json(Value),
    /// Printed as it is.
    Text(String),
}

/// The lines of an exchange. Bodies are redacted here, so that hidden ids get no number.
pub(super) fn lines(exchange: &Exchange<'_>, redact: &[String]) -> Vec<Line> {
    let request = exchange
        .request
        .map(|entry| request(exchange, entry, redact));
    let streams = exchange.answers.len() > 1;
    let answers = exchange
        .answers
        .iter()
        .filter(|entry| !(streams && is_stream_head(&entry.content)))
        .map(|entry| answer(entry, redact));
    request.into_iter().chain(answers).collect()
}

/// A 200 without body that events follow says nothing that they do not say.
fn is_stream_head(content: &Content) -> bool {
    matches!(
        content,
        Content::Reply {
            status: 200,
            body: None,
            ..
        }
    )
}

fn request(exchange: &Exchange<'_>, entry: &Entry, redact: &[String]) -> Line {
    let body = entry.content.body();
    let id = body.and_then(|body| envelope_id(body.json()?));
    let task =
        matches!(exchange.ask(), Some(Ask::A2a(method)) if !method.contains("PushNotification"))
            .then(|| task_in_request(exchange))
            .flatten();
    Line {
        arrow: '>',
        title: request_title(&entry.content),
        shown: body.and_then(|body| shown(body, redact)),
        ids: [task.map(|id| (Kind::Task, id)), id]
            .into_iter()
            .flatten()
            .collect(),
    }
}

fn envelope_id(body: &Value) -> Option<(Kind, String)> {
    let id = body.get("id").filter(|_| wire::is_rpc(body))?.as_str()?;
    text::is_uuid(id).then(|| (Kind::Request, id.to_owned()))
}

/// JSON-RPC requests by their method, others by what HTTP says.
fn request_title(content: &Content) -> String {
    let method = |body: &Body| Some(body.json()?.get("method")?.as_str()?.to_owned());
    match content {
        Content::Request {
            method: verb,
            path,
            body,
            ..
        } => body
            .as_ref()
            .and_then(method)
            .unwrap_or_else(|| format!("{verb} {path}")),
        Content::Reply { .. } | Content::Event { .. } | Content::End | Content::Failure { .. } => {
            String::new()
        }
    }
}

fn answer(entry: &Entry, redact: &[String]) -> Line {
    let (title, shown) = match &entry.content {
        Content::Request { .. } => (String::new(), None),
        Content::Reply { status, body, .. } => of_reply(entry, *status, body.as_ref(), redact),
        Content::Event { body, .. } => (body_title(entry), body_shown(body.as_ref(), redact)),
        Content::End => ("end".to_owned(), None),
        Content::Failure { error } => (format!("failure: {}", text::failure(error)), None),
    };
    Line {
        arrow: '<',
        title,
        shown,
        ids: Vec::new(),
    }
}

fn of_reply(
    entry: &Entry,
    status: u16,
    body: Option<&Body>,
    redact: &[String],
) -> (String, Option<Shown>) {
    let title = match (status, body) {
        (200, Some(_)) => body_title(entry),
        (_, Some(_)) => format!("http {status} {}", body_title(entry)),
        (_, None) => format!("http {status}"),
    };
    (title, body_shown(body, redact))
}

/// What a body says in one word or two: an error, a server's own request, a label, or `result`.
fn body_title(entry: &Entry) -> String {
    let body = entry.content.body().and_then(Body::json);
    if let Some(Fault { code, message, .. }) = body.and_then(wire::fault) {
        return format!("error {code} {message}").trim_end().to_owned();
    }
    if let Some(method) = body.and_then(|body| body.get("method")?.as_str()) {
        return method.to_owned();
    }
    let said = labels(entry)
        .into_iter()
        .find(|label| !label.starts_with("http:"));
    said.unwrap_or_else(|| "result".to_owned())
}

fn body_shown(body: Option<&Body>, redact: &[String]) -> Option<Shown> {
    match body?.json().and_then(wire::fault) {
        Some(fault) => fault.data.map(|data| Shown::Json(data.clone())),
        None => shown(body?, redact),
    }
}

pub(super) fn shown(body: &Body, redact: &[String]) -> Option<Shown> {
    match body {
        Body::Json(body) => {
            let body = redact::redacted(body, redact);
            let payload = wire::payload(&body);
            // A request without parameters is its method alone; an envelope is never shown.
            let bare = std::ptr::eq(payload, &body) && wire::is_rpc(&body);
            (!bare && *payload != json!({})).then(|| Shown::Json(payload.clone()))
        }
        Body::Text(text) => (!text.trim().is_empty()).then(|| Shown::Text(text.clone())),
        Body::Omitted { bytes, why, sha256 } => Some(Shown::Text(match sha256 {
            Some(sha256) => format!("<omitted: {why}, {bytes} bytes, SHA-256 {sha256}>"),
            None => format!("<omitted: {why}>"),
        })),
    }
}
