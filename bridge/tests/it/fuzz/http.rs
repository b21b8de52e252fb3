//! Requests of HTTP: methods, paths, queries and headers, of HTTP+JSON in 1.0 and 0.3 and of JSON-RPC.
//!
//! An input is the text of a request: `GET /a2a/tasks?pageSize=1`, headers a line each, an empty line, the body.

use std::collections::BTreeSet;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri},
};
use bridge_protocol::{
    a2a::{ErrorKind, Operation},
    dialect::Version,
};
use serde_json::Value;

use super::{
    Verdict, bytes, corpus, fuzz,
    query::Query,
    rng::Rng,
    served,
    served::{Answer, Served},
};

/// The placeholder for the id of an existing task.
pub(super) const TASK: &str = "THE-TASK";

const LINES: [&str; 22] = [
    "GET /a2a/tasks?contextId=c&status=TASK_STATE_WORKING&pageSize=3&historyLength=1\nA2A-Version: 1.0",
    "GET /a2a/agent/tasks?includeArtifacts=true&statusTimestampAfter=2026-11-22T00%3A00%3A00Z\nA2A-Version: 1.0",
    "GET /a2a/tasks?pageToken=eyJ9&tenant=acme&A2A-Version=1.0",
    "GET /a2a/tasks/THE-TASK?historyLength=1\nA2A-Version: 1.0",
    "HEAD /a2a/tasks/THE-TASK\nA2A-Version: 1.0",
    "GET /a2a/agent/acme/tasks/THE-TASK\nA2A-Version: 1.0",
    "GET /a2a/agent/a%20b/tasks/THE-TASK:subscribe\nA2A-Version: 1.0",
    "GET /a2a/v1/tasks/THE-TASK?historyLength=0",
    "GET /a2a/agent/v1/tasks",
    "GET /a2a/agent/v1/card",
    "GET /a2a/agent/extendedAgentCard\nA2A-Version: 1.0",
    "GET /a2a/agent/.well-known/agent-card.json",
    "GET /.well-known/agent.json",
    "POST /a2a/tasks/THE-TASK:subscribe\nA2A-Version: 1.0\nLast-Event-ID: THE-TASK/1",
    "GET /a2a/v1/tasks/THE-TASK:subscribe\nLast-Event-ID: THE-TASK/99999999999999999999",
    "POST /a2a/tasks/THE-TASK%3Acancel\nA2A-Version: 1.0\nContent-Type: application/a2a+json\n\n{\"metadata\":{}}",
    "POST /a2a/agent/v1/tasks/THE-TASK:cancel\n\n{\"name\":\"tasks/THE-TASK\"}",
    "POST /a2a/tasks/THE-TASK/pushNotificationConfigs\nA2A-Version: 1.0\n\n{\"id\":\"c\",\"url\":\"https://localhost:9/\"}",
    "GET /a2a/tasks/THE-TASK/pushNotificationConfigs?pageSize=1\nA2A-Version: 1.0",
    "GET /a2a/v1/tasks/THE-TASK/pushNotificationConfigs/c",
    "DELETE /a2a/tasks/THE-TASK/pushNotificationConfigs/c\nA2A-Version: 1.0",
    "OPTIONS /a2a/message:send\nOrigin: http://localhost",
];

/// Headers with a meaning, and their values.
const HEADERS: [&str; 14] = [
    "A2A-Version: 1.0",
    "A2A-Version: 0.3.0",
    "A2A-Version: 0.1",
    "A2A-Version: 1.0, 0.3",
    "A2A-Version:  ",
    "A2A-Version: 18446744073709551616.0",
    "A2A-Extensions: urn:a, urn:b,,",
    "X-A2A-Extensions: urn:\u{e9}",
    "Last-Event-ID: THE-TASK/1",
    "Last-Event-ID: /-1",
    "Content-Type: application/json; charset=\"utf-8",
    "Content-Type: text/plain",
    "Accept: text/event-stream;q=0, */*",
    "Authorization: Bearer ..",
];

/// Messages in every version, by both bindings.
fn seeds() -> Vec<Vec<u8>> {
    let mut all: Vec<String> = LINES.iter().map(ToString::to_string).collect();
    for (version, operation, params) in corpus::params() {
        let (below, named) = match version {
            Version::V1_0 => ("/a2a/agent", "A2A-Version: 1.0\n"),
            Version::V0_1 | Version::V0_3 => ("/a2a/agent/v1", ""),
        };
        let action = match operation {
            Operation::SendMessage => "message:send",
            Operation::SendStreamingMessage => "message:stream",
            _ => continue,
        };
        all.push(format!(
            "POST {below}/{action}\n{named}Content-Type: application/json\n\n{params}"
        ));
    }
    for body in corpus::requests() {
        let body = String::from_utf8_lossy(&body);
        all.push(format!("POST /a2a\nA2A-Version: 1.0\n\n{body}"));
    }
    all.into_iter().map(String::into_bytes).collect()
}

/// Returns one of the seeds with other bytes, parameters or headers, or in another spelling.
fn change(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    // Requests of one line are chosen as often as the many with bodies.
    let seeds = if rng.one_in(2) { seeds } else { &seeds[..LINES.len()] };
    let mut text = rng.pick(seeds).clone();
    for _ in 0..=rng.below(5) {
        match rng.below(5) {
            0 => bytes::change_once(rng, &mut text, seeds),
            1 => escape(rng, &mut text),
            2 => add_header(rng, &mut text),
            _ => Query::change(rng, &mut text),
        }
    }
    text
}

/// Writes one of the line's characters as `%XX`.
fn escape(rng: &mut Rng, text: &mut Vec<u8>) {
    let end = end_of_line(text);
    let at = rng.below(end);
    if let Some(byte) = text.get(at).copied().filter(|_| at < end) {
        text.splice(at..=at, format!("%{byte:02X}").into_bytes());
    }
}

fn add_header(rng: &mut Rng, text: &mut Vec<u8>) {
    let end = end_of_line(text);
    let header = format!("\n{}", rng.pick(&HEADERS));
    text.splice(end..end, header.into_bytes());
}

pub(super) fn end_of_line(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| *byte == b'\n');
    end.unwrap_or(text.len())
}

/// A request as a server of HTTP hands it on.
struct Asked {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
}

impl Asked {
    /// Reads a request; `None` if a server of HTTP would refuse it.
    fn read(input: &[u8], task: &str) -> Option<Self> {
        let text = String::from_utf8_lossy(input).replace(TASK, task);
        let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let (method, target) = lines.next()?.split_once(' ')?;
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = HeaderValue::from_bytes(value.trim().as_bytes());
            headers.append(name.parse::<HeaderName>().ok()?, value.ok()?);
        }
        Some(Self {
            method: method.parse().ok()?,
            uri: target.starts_with('/').then(|| target.parse().ok())??,
            headers,
            body: body.to_owned(),
        })
    }

    fn request(&self) -> Request<Body> {
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Returns the version in the header, if there is one.
    fn version(&self) -> Option<&str> {
        self.headers.get("a2a-version")?.to_str().ok()
    }

    fn judge(&self, answer: &Answer) -> Verdict {
        let Answer { status, body, .. } = answer;
        if status.is_server_error() {
            return Err("it broke".to_owned());
        }
        let is_agents = self.uri.path().starts_with("/a2a/") || self.uri.path() == "/a2a";
        let says_enough = status.is_success() || answer.headers.contains_key("allow");
        if body.is_empty() && (says_enough || self.method == Method::HEAD || !is_agents) {
            return Ok(());
        }
        let is_usage =
            body.starts_with(b"agent \"agent\" expects JSON-RPC by POST at this address");
        if is_usage && *status == StatusCode::OK && self.method == Method::GET {
            return Ok(());
        }
        let documents = answer.documents()?;
        match documents.first().and_then(|document| document.get("error")) {
            Some(error) if error["code"] == status.as_u16() => {
                refusal(error, self.body.is_empty())?;
            }
            Some(_) | None => documents.iter().try_for_each(served::check)?,
        }
        let is_spoken = |version: &str| {
            let known = ["", "0.1", "0.2", "0.3", "1.0"];
            known.contains(&version)
                || known[1..].iter().any(|one| version.starts_with(&format!("{one}.")))
        };
        match self.version().map(str::trim) {
            Some(version)
                if !is_spoken(version)
                    && *status == StatusCode::OK
                    && documents[0].get("result").is_some() =>
            {
                Err(format!("{version} is no version"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Checks an error of HTTP+JSON: its kind is known, and for a request without a body it names the wrong parameter.
fn refusal(error: &Value, is_bare: bool) -> Verdict {
    let details = error["details"].as_array().ok_or("an error without details")?;
    let reason = details.first().and_then(|info| info["reason"].as_str());
    let kind = ErrorKind::ALL.iter().find(|kind| Some(kind.reason()) == reason);
    match kind {
        None => Err(format!("{reason:?} is no reason")),
        Some(ErrorKind::InvalidParams) if is_bare && !names_what(error) => {
            Err("the error names no parameter".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// Returns whether an error names the wrong parameter or header.
fn names_what(error: &Value) -> bool {
    let message = error["message"].as_str().unwrap_or_default();
    message.starts_with("Last-Event-ID: ") || fields(error).iter().any(|field| !field.is_empty())
}

/// Returns the fields that an error of HTTP+JSON names.
pub(super) fn fields(error: &Value) -> BTreeSet<String> {
    let details = error["details"].as_array().into_iter().flatten();
    let violations = details.filter_map(|detail| detail["fieldViolations"].as_array());
    let named = violations.flatten().filter_map(|one| one["field"].as_str());
    named.map(str::to_owned).collect()
}

#[test]
fn http_requests() {
    let mut served = Served::new();
    fuzz("http_requests", &seeds(), change, |input| {
        let task = served.task();
        let Some(asked) = Asked::read(input, &task) else {
            return Ok(());
        };
        let answer = served.send(asked.request())?;
        let judged = asked.judge(&answer);
        let told =
            |problem| format!("{} {}: {}: {problem}", asked.method, asked.uri, answer.shown());
        judged.map_err(told)?;
        match Query::read(&asked.method, &asked.uri, &asked.headers, &task) {
            Some(query) => query.judge(&served, &answer).map_err(told),
            None => Ok(()),
        }
    });
}
