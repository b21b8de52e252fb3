//! Writes errors as `google.rpc.Status` in JSON (specification 11.6, 5.4).

use axum::http::StatusCode;
use bridge_protocol::a2a::{Error, ErrorKind};
use serde_json::{Value, json};

use super::response_format::ResponseFormat;

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
    /// Returns the error for an unknown path.
    pub(super) fn path(message: String) -> Self {
        Error::new(ErrorKind::MethodNotFound, message).into()
    }

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
