//! The errors of the protocol, with a table of their codes in each binding (specification 3.3.2, 5.4, 9.5, 11.6).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Value, json};

use crate::wire::{FieldError, Unparsed};

/// Makes the kinds of error and the table of their codes.
macro_rules! kinds {
    ($( $(#[$meta:meta])* $kind:ident = $code:literal, $reason:literal, $http:literal, $grpc:literal, $text:literal; )*) => {
        /// The kind of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorKind {
            $( $(#[$meta])* $kind, )*
        }

        impl ErrorKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$( Self::$kind, )*];

            /// Returns the code in JSON-RPC.
            pub fn code(self) -> i64 {
                match self { $( Self::$kind => $code, )* }
            }

            /// Returns the reason in `google.rpc.ErrorInfo`.
            pub fn reason(self) -> &'static str {
                match self { $( Self::$kind => $reason, )* }
            }

            /// Returns the status in HTTP+JSON.
            pub fn http_status(self) -> u16 {
                match self { $( Self::$kind => $http, )* }
            }

            /// Returns the status code in gRPC, such as 3 for `INVALID_ARGUMENT`.
            pub fn grpc_code(self) -> i32 {
                match self { $( Self::$kind => $grpc, )* }
            }

            /// Returns the default message.
            pub fn text(self) -> &'static str {
                match self { $( Self::$kind => $text, )* }
            }
        }
    };
}

kinds! {
    /// The body is not JSON.
    Parse = -32700, "PARSE_ERROR", 400, 3, "the body is not JSON";
    /// The body is JSON but not a request.
    InvalidRequest = -32600, "INVALID_REQUEST", 400, 3, "the body is not a request";
    /// The method does not exist.
    MethodNotFound = -32601, "METHOD_NOT_FOUND", 404, 12, "there is no such method";
    /// The parameters are not valid.
    InvalidParams = -32602, "INVALID_PARAMS", 400, 3, "the parameters are not valid";
    /// The agent failed.
    Internal = -32603, "INTERNAL_ERROR", 500, 13, "the agent failed internally";
    /// The task does not exist, or belongs to another caller.
    TaskNotFound = -32001, "TASK_NOT_FOUND", 404, 5, "there is no such task";
    /// The task has already ended.
    TaskNotCancelable = -32002, "TASK_NOT_CANCELABLE", 400, 9, "the task cannot be canceled";
    /// The agent does not support push notifications.
    PushNotificationNotSupported = -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, 9, "push notifications are not supported";
    /// The agent does not support the operation, or the task's state does not allow it.
    UnsupportedOperation = -32004, "UNSUPPORTED_OPERATION", 400, 9, "the operation is not supported";
    /// The agent does not accept the media type.
    ContentTypeNotSupported = -32005, "CONTENT_TYPE_NOT_SUPPORTED", 400, 3, "the content type is not supported";
    /// The agent behind the server sent a response that violates the protocol.
    InvalidAgentResponse = -32006, "INVALID_AGENT_RESPONSE", 500, 13, "the agent's response is not valid";
    /// The agent has no extended card.
    ExtendedAgentCardNotConfigured = -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 400, 9, "there is no extended agent card";
    /// The client does not support an extension that the agent requires.
    ExtensionSupportRequired = -32008, "EXTENSION_SUPPORT_REQUIRED", 400, 9, "an extension must be supported";
    /// The agent does not support the version.
    VersionNotSupported = -32009, "VERSION_NOT_SUPPORTED", 400, 9, "the protocol version is not supported";
    /// The agent cannot serve the request now. Nothing was changed, and the same request can be sent again later. The
    /// protocol has no code for this, so it has the code of an internal error.
    Unavailable = -32603, "UNAVAILABLE", 503, 14, "the agent cannot do that now: send the request again later";
    /// The caller has used up what it may take. Nothing was changed, and the same request can be sent again later. The
    /// protocol has no code for this, so it has the code of an internal error.
    ResourceExhausted = -32603, "RESOURCE_EXHAUSTED", 429, 8, "too many requests of the caller: send it again later";
}

impl ErrorKind {
    /// Returns the kind with this JSON-RPC code; if several kinds share it, the most general one.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// Returns the name of the error in 0.3 (0.3.0, section 8), if it has this error.
    pub fn name_in_v0_3(self) -> Option<&'static str> {
        Some(match self {
            Self::Parse => "JSONParseError",
            Self::InvalidRequest => "InvalidRequestError",
            Self::MethodNotFound => "MethodNotFoundError",
            Self::InvalidParams => "InvalidParamsError",
            Self::Internal => "InternalError",
            Self::TaskNotFound => "TaskNotFoundError",
            Self::TaskNotCancelable => "TaskNotCancelableError",
            Self::PushNotificationNotSupported => "PushNotificationNotSupportedError",
            Self::UnsupportedOperation => "UnsupportedOperationError",
            Self::ContentTypeNotSupported => "ContentTypeNotSupportedError",
            Self::InvalidAgentResponse => "InvalidAgentResponseError",
            Self::ExtendedAgentCardNotConfigured => "AuthenticatedExtendedCardNotConfiguredError",
            Self::ExtensionSupportRequired
            | Self::VersionNotSupported
            | Self::Unavailable
            | Self::ResourceExhausted => return None,
        })
    }
}

/// The type of the detail with the reason.
pub(crate) const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
/// The type of the detail with the delay before a retry.
pub(crate) const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
/// The type of the detail with the invalid fields.
pub(crate) const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// Returns the detail with the delay before a retry, in seconds.
pub fn retry_info(seconds: u32) -> Value {
    json!({"@type": RETRY_INFO, "retryDelay": format!("{seconds}s")})
}

/// The largest part of an unknown id that is shown, in characters: gRPC sends errors in headers, whose size clients
/// limit.
const SHOWN: usize = 200;

/// An error of the protocol.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} ({})", kind.code())]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// The message for people.
    pub message: String,
    /// The details as `google.protobuf.Any` in JSON, without the `ErrorInfo` that every error has.
    pub details: Vec<Value>,
}

impl Error {
    /// Creates an error with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: Vec::new() }
    }

    /// Creates the error for a task that does not exist or belongs to another caller.
    pub fn task_not_found(id: &str) -> Self {
        let message = match id.char_indices().nth(SHOWN) {
            None => format!("task {id} not found"),
            Some((cut, _)) => format!("task {}... not found", &id[..cut]),
        };
        Self::new(ErrorKind::TaskNotFound, message)
    }

    /// Creates the error for a request that cannot be served now; it can be sent again after this number of seconds.
    pub fn unavailable(message: impl Into<String>, seconds: u32) -> Self {
        Self { details: [retry_info(seconds)].into(), ..Self::new(ErrorKind::Unavailable, message) }
    }

    /// Creates the error for a caller that has reached a limit; the request can be sent again after this number of
    /// seconds.
    pub fn exhausted(message: impl Into<String>, seconds: u32) -> Self {
        Self { kind: ErrorKind::ResourceExhausted, ..Self::unavailable(message, seconds) }
    }

    /// Returns the delay in seconds after which the same request can be sent again, if the error has one.
    pub fn retry_after(&self) -> Option<u32> {
        let is_retry = |detail: &&Value| detail["@type"] == RETRY_INFO;
        let delay = self.details.iter().find(is_retry)?["retryDelay"].as_str()?;
        delay.strip_suffix('s')?.parse().ok()
    }

    /// Returns all details, the `ErrorInfo` first: `error.data` in JSON-RPC, `error.details` in HTTP+JSON.
    pub fn all_details(&self) -> Vec<Value> {
        let info = json!({
            "@type": ERROR_INFO,
            "reason": self.kind.reason(),
            "domain": "a2a-protocol.org",
        });
        core::iter::once(info).chain(self.details.iter().cloned()).collect()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind, kind.text())
    }
}

impl From<Unparsed> for Error {
    fn from(unparsed: Unparsed) -> Self {
        let kind = match &unparsed {
            Unparsed::TooMuch(_) => ErrorKind::InvalidRequest,
            Unparsed::Syntax(_) => ErrorKind::Parse,
        };
        Self::new(kind, unparsed.to_string())
    }
}

/// An invalid field among the parameters becomes `google.rpc.BadRequest`.
impl From<FieldError> for Error {
    fn from(error: FieldError) -> Self {
        let violation = json!({
            "@type": BAD_REQUEST,
            "fieldViolations": [{
                "field": error.path,
                "description": format!("expected {}, found {}", error.expected, error.found),
            }],
        });
        Self {
            kind: ErrorKind::InvalidParams,
            message: error.to_string(),
            details: [violation].into(),
        }
    }
}
