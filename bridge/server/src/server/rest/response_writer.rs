//! Writes responses with their media types (specification 11.1, 14.1.1), and errors as `google.rpc.Status` in JSON
//! (specification 11.6, 5.4).

use axum::{
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use bridge_protocol::a2a::{Error, ErrorKind};
use serde_json::{Value, json};

use super::response_format::ResponseFormat;
use crate::{
    server::{render, sse},
    service::{Reply, StreamItems},
};

/// Writes the responses to a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseWriter {
    format: ResponseFormat,
    /// Whether the client accepts `application/json`, or only events, but not `application/a2a+json`. Some who ask for
    /// events read an error in `application/json` alone.
    is_plain: bool,
}

/// Returns whether a client names this media type as one that it accepts.
pub(in crate::server) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.contains(media_type))
}

impl ResponseWriter {
    /// Creates a writer for a request with these headers and the given format.
    pub(super) fn for_request(headers: &HeaderMap, format: ResponseFormat) -> Self {
        let accepts = |media_type| accepts(headers, media_type);
        Self {
            format,
            is_plain: !accepts("application/a2a+json")
                && (accepts("application/json") || accepts("text/event-stream")),
        }
    }

    /// Returns the same writer with another format.
    pub(super) fn with_format(self, format: ResponseFormat) -> Self {
        Self { format, ..self }
    }

    /// Returns a response with one object.
    pub(super) fn reply(self, reply: Reply) -> Response {
        self.json(StatusCode::OK, self.format.text(reply))
    }

    /// Returns a stream of objects without envelope. The error that ends a stream is an event with the name `error`.
    pub(super) fn stream(self, items: StreamItems) -> Response {
        let write = move |to: &mut Vec<u8>, item| self.format.item(to, item);
        let failed = move |error| HttpError::from(error).body(self.format);
        sse::stream(items, write, move |error| sse::named_event("error", &failed(error)))
    }

    pub(super) fn error(self, refusal: &HttpError) -> Response {
        let response = self.json(refusal.status, render::text(0, &refusal.body(self.format)));
        let allow = refusal.allow.as_ref().map(|allow| [(ALLOW, allow)]);
        (allow, render::retry_after(&refusal.error), response).into_response()
    }

    /// Returns a JSON response that must not be cached: it is for one caller and shows the current state. Without
    /// `Cache-Control` a cache may store responses to GET, and would only recognize credentials in `Authorization`
    /// (RFC 9111, sections 3.5, 4.2.2).
    fn json(self, status: StatusCode, text: Vec<u8>) -> Response {
        let media_type = match (self.is_plain, self.format) {
            (false, ResponseFormat::V1_0) => "application/a2a+json",
            (true, ResponseFormat::V1_0)
            | (_, ResponseFormat::V0_3 | ResponseFormat::V0_3Proto) => "application/json",
        };
        let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-store")];
        (status, headers, text).into_response()
    }
}

/// An error with its HTTP status.
#[derive(Clone, Debug)]
pub(super) struct HttpError {
    pub(super) status: StatusCode,
    pub(super) error: Error,
    /// The value of the header `Allow`, if the method was wrong.
    pub(super) allow: Option<String>,
}

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(error.kind.http_status());
        Self { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error, allow: None }
    }
}

impl HttpError {
    /// Returns the error for a method that the path does not have.
    pub(super) fn method(message: String, allowed: &[&str]) -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            error: Error::new(ErrorKind::MethodNotFound, message),
            allow: Some(allowed.join(", ")),
        }
    }

    /// Returns the body. 0.3 does not define it: beside the status of 1.0 it has the code and message of JSON-RPC and
    /// the error's name, which the SDKs of 0.3 read.
    pub(super) fn body(&self, format: ResponseFormat) -> Value {
        let status = json!({
            "code": self.status.as_u16(),
            "status": status(self.error.kind),
            "message": self.error.message,
            "details": self.error.all_details(),
        });
        match format {
            ResponseFormat::V1_0 => json!({"error": status}),
            ResponseFormat::V0_3 | ResponseFormat::V0_3Proto => json!({
                "error": status,
                "type": name(self.error.kind),
                "code": self.error.kind.code(),
                "message": self.error.message,
            }),
        }
    }
}

/// Returns the error's name for clients of 0.3, also if 0.3 does not have the error.
fn name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExtensionSupportRequired => "ExtensionSupportRequiredError",
        ErrorKind::VersionNotSupported => "VersionNotSupportedError",
        other => other.name_in_v0_3().unwrap_or("InternalError"),
    }
}

/// Returns the name of the error's `google.rpc.Code`.
fn status(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::TaskNotFound | ErrorKind::MethodNotFound => "NOT_FOUND",
        ErrorKind::Parse
        | ErrorKind::InvalidRequest
        | ErrorKind::InvalidParams
        | ErrorKind::ContentTypeNotSupported => "INVALID_ARGUMENT",
        ErrorKind::Internal | ErrorKind::InvalidAgentResponse => "INTERNAL",
        ErrorKind::Unavailable => "UNAVAILABLE",
        ErrorKind::ResourceExhausted => "RESOURCE_EXHAUSTED",
        ErrorKind::TaskNotCancelable
        | ErrorKind::PushNotificationNotSupported
        | ErrorKind::UnsupportedOperation
        | ErrorKind::ExtendedAgentCardNotConfigured
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::VersionNotSupported => "FAILED_PRECONDITION",
    }
}
