//! Converts errors of `rmcp` into the errors of this crate.

use std::{error::Error, io, iter, time::Duration};

use bridge_http::advice_on_tls;
use rmcp::{
    model::{CustomResult, InitializeResult, ServerResult},
    service::{ClientInitializeError, ServiceError},
    transport::{
        DynamicTransportError,
        streamable_http_client::{AuthRequiredError, StreamableHttpError},
    },
};
use serde::{Deserialize as _, Serialize};

use super::{
    error::{CallError, ConnectError},
    printed::Printed,
};
use crate::connection::{ConnectionDetails, Transport, masked_text, searched};

/// The longest part of a peer's text that an error repeats, in characters.
const MAX_TEXT: usize = 300;

/// Creates errors about one server and masks its secrets, because a server may repeat the values that it was sent.
pub(super) struct Failures {
    server: String,
    /// What it means that the server closed the connection before it answered.
    closed: &'static str,
    /// What a program printed to its standard output.
    pub(super) printed: Printed,
    secrets: Vec<String>,
}

impl Failures {
    pub(super) fn of(details: &ConnectionDetails) -> Self {
        let secrets = details.secrets().into_iter();
        let closed = match details.transport {
            Transport::Http { .. } => "the server closed the connection before it answered",
            Transport::Stdio { .. } => {
                "the program ended before it answered; what it printed to standard error may say why"
            }
        };
        Self {
            server: format!("{} ({})", details.name, details.address()),
            closed,
            printed: Printed::default(),
            secrets: searched(secrets.map(|secret| secret.expose())),
        }
    }

    pub(super) fn connect_timed_out(&self, limit: Duration) -> ConnectError {
        let server = self.server.clone();
        match self.printed.text() {
            Some(text) => ConnectError::Failed {
                server,
                reason: self.masked(&format!("no answer within {limit:?}, but this: {text}")),
            },
            None => ConnectError::TimedOut { server, limit },
        }
    }

    pub(super) fn header(&self, (header, expected): (String, &'static str)) -> ConnectError {
        ConnectError::Header { server: self.server.clone(), header, expected }
    }

    pub(super) fn start(&self, error: io::Error) -> ConnectError {
        ConnectError::Start { server: self.server.clone(), error }
    }

    pub(super) fn connect(&self, error: &(dyn Error + 'static)) -> ConnectError {
        let mut reason = self.reason(error);
        if let Some(advice) = advice(&reason) {
            reason = format!("{reason}; {advice}");
        }
        ConnectError::Failed { server: self.server.clone(), reason }
    }

    pub(super) fn begin(&self, error: &ClientInitializeError) -> ConnectError {
        let server = self.server.clone();
        if is_of_no_token(error) {
            return ConnectError::Unauthorized(server);
        }
        if is_of_end(error) {
            let reason = self.with_printed("the program ended before it answered");
            let reason = reason.unwrap_or_else(|| self.closed.to_owned());
            return ConnectError::Failed { server, reason };
        }
        match last(error) {
            ClientInitializeError::TransportError { error, .. } => {
                self.connect(error.error.as_ref())
            }
            ClientInitializeError::ExpectedInitResult(Some(result)) => {
                ConnectError::Failed { server, reason: self.masked(&wrong_result(result)) }
            }
            last => self.connect(last),
        }
    }

    pub(super) fn unexpected(&self, call: &str, reason: &str) -> CallError {
        CallError::Unexpected { call: call.to_owned(), reason: self.masked(reason) }
    }

    pub(super) fn call(&self, call: &str, error: ServiceError) -> CallError {
        let named = call.to_owned();
        match error {
            ServiceError::McpError(error) => CallError::Rejected {
                call: named,
                code: error.code.0,
                message: self.masked(&error.message),
            },
            ServiceError::TransportSend(error) if is_unauthorized(&error) => {
                CallError::Unauthorized(named)
            }
            ServiceError::TransportSend(error) => {
                CallError::Closed { call: named, reason: self.reason(error.error.as_ref()) }
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                let said = "it ended before the answer came";
                let reason = self.with_printed(said).unwrap_or_else(|| said.to_owned());
                CallError::Closed { call: named, reason }
            }
            other => self.unexpected(call, &other.to_string()),
        }
    }

    /// Returns what is said with what the program printed to standard output, if it printed anything.
    fn with_printed(&self, said: &str) -> Option<String> {
        let text = self.printed.text()?;
        Some(self.masked(&format!("{said}; it printed: {text}")))
    }

    /// Returns the text of an error and its causes. The innermost cause usually says most.
    fn reason(&self, error: &(dyn Error + 'static)) -> String {
        let mut reasons: Vec<String> = Vec::new();
        for words in causes(error).filter_map(|error| link(error).0) {
            if !reasons.iter().any(|known| known.contains(&words)) {
                reasons.push(words);
            }
        }
        // An answer without a body is quoted as nothing.
        self.masked(reasons.join(": ").trim_end_matches(": "))
    }

    fn masked(&self, text: &str) -> String {
        let text = masked_text(text, &self.secrets);
        match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}..", &text[..end]),
            None => text,
        }
    }
}

/// Returns an error for an answer that is too large.
pub(super) fn check_size(
    call: &str,
    size: usize,
    unit: &'static str,
    limit: usize,
) -> Result<(), CallError> {
    match size <= limit {
        true => Ok(()),
        false => Err(CallError::TooLarge { call: call.to_owned(), size, unit, limit }),
    }
}

/// Returns the size of a value as JSON, in bytes.
pub(super) fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |json| json.len())
}

/// Returns the text of an error and its cause. `rmcp` does not name the HTTP client's error as a cause; that error
/// begins with the URL, whose query may contain a token.
fn link<'a>(
    error: &'a (dyn Error + 'static),
) -> (Option<String>, Option<&'a (dyn Error + 'static)>) {
    match error.downcast_ref::<StreamableHttpError<reqwest_0_13::Error>>() {
        Some(StreamableHttpError::Client(error)) => {
            let unexplained = error.source().is_none().then(|| "the request failed".to_owned());
            let status = error.status().map(|status| format!("HTTP {status}"));
            (status.or(unexplained), error.source())
        }
        Some(_) | None => (Some(error.to_string()), error.source()),
    }
}

/// Returns an error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |error| link(*error).1)
}

fn transport(error: &ClientInitializeError) -> Option<&DynamicTransportError> {
    match last(error) {
        ClientInitializeError::TransportError { error, .. } => Some(error),
        _ => None,
    }
}

/// Returns the error of the last attempt: that of `initialize`, after a server did not know `server/discover`.
fn last(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback,
        error => error,
    }
}

/// Returns what to do about a failed connection, for mistakes that are common in URLs.
fn advice(reason: &str) -> Option<&'static str> {
    let is_lost = reason.contains("HTTP 404");
    let on_path = is_lost.then_some("check the path of the URL: most servers are at /mcp");
    on_path.or_else(|| advice_on_tls(reason))
}

/// Returns what is wrong with an answer to `initialize`, of which `rmcp` says only that it is another one.
fn wrong_result(result: &ServerResult) -> String {
    let wrong = match result {
        ServerResult::CustomResult(CustomResult(value)) => {
            InitializeResult::deserialize(value).err()
        }
        _ => None,
    };
    let wrong = wrong.map_or_else(|| "another result was expected".to_owned(), |e| e.to_string());
    format!("the server's answer to initialize is no valid one: {wrong}")
}

/// Returns whether the other side closed the connection before it answered.
fn is_of_end(error: &ClientInitializeError) -> bool {
    matches!(last(error), ClientInitializeError::ConnectionClosed(_))
}

fn is_of_no_token(error: &ClientInitializeError) -> bool {
    error.is_authorization_required() || transport(error).is_some_and(is_unauthorized)
}

/// Returns whether `initialize` may work on a new connection, after `server/discover` failed. Some programs end when they
/// are sent a request before `initialize`: those on the Python SDK before 1.9 and on `rmcp` before 2.
pub(super) fn may_know_initialize(
    error: &ClientInitializeError,
    details: &ConnectionDetails,
) -> bool {
    match (error, &details.transport) {
        (ClientInitializeError::ExpectedInitResult(_), _) => true,
        (ClientInitializeError::LegacyFallbackFailed { .. }, Transport::Http { .. }) => false,
        (_, Transport::Http { .. }) => !is_of_no_token(error),
        (error, Transport::Stdio { .. }) => is_of_end(error),
    }
}

/// Returns whether a server rejects the first POST of a client, as servers of the older HTTP+SSE transport do.
pub(super) fn is_of_no_post(error: &ClientInitializeError) -> bool {
    let refused = ["HTTP 400", "HTTP 404", "HTTP 405"];
    let is_refused = |words: String| refused.iter().any(|status| words.contains(status));
    transport(error).is_some_and(|error| {
        causes(error.error.as_ref()).filter_map(|error| link(error).0).any(is_refused)
    })
}

/// Returns whether an error means 401. A response with the challenge that HTTP requires has an error type; a
/// response without it is recognised by its text.
fn is_unauthorized(error: &DynamicTransportError) -> bool {
    causes(error.error.as_ref()).any(|error| {
        error.is::<AuthRequiredError>()
            || error.to_string().starts_with("unexpected server response: HTTP 401")
    })
}
