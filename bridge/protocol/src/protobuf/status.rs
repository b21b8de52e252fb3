//! Errors in gRPC: a code, a text, and `google.rpc.Status` in the trailer `grpc-status-details-bin`
//! (specification 5.4, 10.6).

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use prost::Message;
use prost_types::Any;
use serde_json::{Value, json};

use crate::{
    a2a::{BAD_REQUEST, ERROR_INFO, Error, ErrorKind, RETRY_INFO},
    jsonrpc::RpcError,
};

/// Returns the gRPC status code of an error kind in 0.3, which has no table of its own: the one from which the most SDKs of
/// 0.3 see which error is meant.
pub fn code_v0_3(kind: ErrorKind) -> i32 {
    const UNIMPLEMENTED: i32 = 12;
    match kind {
        ErrorKind::PushNotificationNotSupported | ErrorKind::UnsupportedOperation => UNIMPLEMENTED,
        other => other.grpc_code(),
    }
}

/// Returns the message of an error in 0.3, which begins with the error's name if 0.3 has the error. Its SDKs tell errors
/// apart by these names.
pub fn message_v0_3(error: &Error) -> String {
    match error.kind.name_in_v0_3() {
        Some(name) => format!("{name}: {}", error.message),
        None => error.message.clone(),
    }
}

/// Returns the error whose name a message begins with, and the rest of the message.
fn named(message: &str) -> Option<(ErrorKind, &str)> {
    let (found, rest) = message.split_once(": ")?;
    let is_named = |kind: &&ErrorKind| kind.name_in_v0_3() == Some(found);
    Some((*ErrorKind::ALL.iter().find(is_named)?, rest))
}

/// Returns the error kind for a gRPC status code without details.
fn kind(code: i32) -> ErrorKind {
    match code {
        3 => ErrorKind::InvalidParams,
        5 => ErrorKind::TaskNotFound,
        8 => ErrorKind::ResourceExhausted,
        9 => ErrorKind::UnsupportedOperation,
        12 => ErrorKind::MethodNotFound,
        14 => ErrorKind::Unavailable,
        // gRPC codes without a counterpart in A2A, and future ones.
        _ => ErrorKind::Internal,
    }
}

/// Returns the `google.rpc.Status` of an error.
pub fn details(error: &Error) -> Vec<u8> {
    status(error.kind.grpc_code(), &error.message, &error.all_details())
}

/// Returns the `google.rpc.Status` of a gRPC code, for errors without a kind in A2A. Details are `google.protobuf.Any`
/// in JSON; those of types that the protocol does not use are left out.
pub fn status(code: i32, message: &str, details: &[Value]) -> Vec<u8> {
    let status = Status {
        code,
        message: message.to_string(),
        details: details.iter().filter_map(to_any).collect(),
    };
    status.encode_to_vec()
}

/// Returns the error for a status and its details, in the form of the other bindings. Invalid details are left out.
pub fn error(code: i32, message: &str, details: &[u8]) -> RpcError {
    let status = Status::decode(details).unwrap_or_default();
    let data: Vec<Value> = status.details.iter().filter_map(from_any).collect();
    let reason = data.iter().find_map(|detail| detail.get("reason")?.as_str());
    let is_reason = |kind: &ErrorKind| Some(kind.reason()) == reason;
    let kind = ErrorKind::ALL.iter().copied().find(is_reason);
    let (named, message) = match named(message) {
        Some((kind, rest)) => (Some(kind), rest),
        None => (None, message),
    };
    RpcError {
        code: kind.or(named).unwrap_or(self::kind(code)).code(),
        message: message.to_string(),
        data: (!data.is_empty()).then_some(Value::Array(data)),
    }
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldViolation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

/// Converts a detail from JSON; `None` for types that the protocol does not use.
fn to_any(detail: &Value) -> Option<Any> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let type_url = detail["@type"].as_str()?;
    let value = match type_url {
        ERROR_INFO => {
            let metadata = detail["metadata"].as_object().cloned().unwrap_or_default();
            let words = |(key, value): (String, Value)| Some((key, value.as_str()?.to_string()));
            let info = ErrorInfo {
                reason: text(detail, "reason"),
                domain: text(detail, "domain"),
                metadata: metadata.into_iter().filter_map(words).collect(),
            };
            info.encode_to_vec()
        }
        BAD_REQUEST => {
            let violation = |one: &Value| FieldViolation {
                field: text(one, "field"),
                description: text(one, "description"),
            };
            let violations = detail["fieldViolations"].as_array()?;
            let field_violations = violations.iter().map(violation).collect();
            BadRequest { field_violations }.encode_to_vec()
        }
        RETRY_INFO => {
            let seconds = detail["retryDelay"].as_str()?.strip_suffix('s')?.parse().ok()?;
            let retry_delay = Some(prost_types::Duration { seconds, nanos: 0 });
            RetryInfo { retry_delay }.encode_to_vec()
        }
        _ => return None,
    };
    Some(Any { type_url: type_url.to_string(), value })
}

/// Converts a detail to JSON.
fn from_any(detail: &Any) -> Option<Value> {
    let value = detail.value.as_slice();
    match detail.type_url.as_str() {
        ERROR_INFO => {
            let info = ErrorInfo::decode(value).ok()?;
            let mut shown =
                json!({"@type": ERROR_INFO, "reason": info.reason, "domain": info.domain});
            if !info.metadata.is_empty() {
                shown["metadata"] = json!(info.metadata);
            }
            Some(shown)
        }
        BAD_REQUEST => {
            let request = BadRequest::decode(value).ok()?;
            let shown =
                |one: FieldViolation| json!({"field": one.field, "description": one.description});
            let violations: Vec<Value> = request.field_violations.into_iter().map(shown).collect();
            Some(json!({"@type": BAD_REQUEST, "fieldViolations": violations}))
        }
        RETRY_INFO => {
            let delay = RetryInfo::decode(value).ok()?.retry_delay?;
            Some(json!({"@type": RETRY_INFO, "retryDelay": format!("{}s", delay.seconds)}))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::FieldError;

    #[test]
    fn an_error_comes_back_as_the_other_bindings_show_it() {
        let field = FieldError::new("a string", "nothing").inside("messageId");
        let errors = ErrorKind::ALL.iter().map(|kind| Error::from(*kind));
        let others =
            [Error::from(field), Error::task_not_found("t-1"), Error::unavailable("later", 7)];
        for sent in errors.chain(others) {
            let read = error(sent.kind.grpc_code(), &sent.message, &details(&sent));
            assert_eq!(read, RpcError::from(sent));
        }
    }

    #[test]
    fn an_error_without_details_is_what_its_code_says() {
        for (code, kind) in [
            (3, ErrorKind::InvalidParams),
            (5, ErrorKind::TaskNotFound),
            (9, ErrorKind::UnsupportedOperation),
            (12, ErrorKind::MethodNotFound),
            (2, ErrorKind::Internal),
        ] {
            let read = error(code, "no", b"\xff not a status");
            assert_eq!((read.kind(), read.data), (Some(kind), None));
        }
    }
}
