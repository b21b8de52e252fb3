//! Reads error answers (specification 1.0, section 11.6).
//!
//! 1.0 uses `google.rpc.Status`, whose reason names the protocol error. Servers of 0.3 vary: some send the
//! JSON-RPC code, some only the HTTP status.

use bridge_protocol::{
    a2a::{ErrorKind, Operation},
    dialect::Call,
    jsonrpc::RpcError,
    wire,
};
use serde_json::Value;

use crate::{Fault, http::HttpResponse};

/// Reads an error answer. One without a protocol error becomes an HTTP status.
pub(super) fn read(answer: &HttpResponse, call: &Call) -> Fault {
    let body = wire::from_slice::<Value>(&answer.body).unwrap_or_default();
    let status = &body.get("error").unwrap_or(&body);
    let Some(message) = status.get("message").and_then(Value::as_str) else {
        return answer.refused();
    };
    if let Some(denied) = answer.denied(message) {
        return denied;
    }
    let kind = reason(status).or_else(|| by_status(answer.status, call.operation()));
    let code = code(status).or(kind.map(ErrorKind::code));
    code.map_or_else(|| answer.refused(), |code| Fault::Rpc(error(status, code)))
}

/// Returns the error in an event of a stream that has an error in place of an item.
pub(super) fn in_stream(event: &Value) -> Option<RpcError> {
    let status = event.get("error")?;
    let kind = reason(status).unwrap_or(ErrorKind::Internal);
    Some(error(status, code(status).unwrap_or(kind.code())))
}

fn error(status: &Value, code: i64) -> RpcError {
    let message = status.get("message").and_then(Value::as_str);
    let details = status.get("details").or_else(|| status.get("data"));
    RpcError { code, message: message.unwrap_or_default().to_owned(), data: details.cloned() }
}

/// Returns the JSON-RPC code, if the server sends one. Other servers put the HTTP status there.
fn code(status: &Value) -> Option<i64> {
    let code = status.get("code").and_then(Value::as_i64);
    code.filter(|code| *code < 0)
}

/// Returns the error named by the `google.rpc.ErrorInfo` in the details.
fn reason(status: &Value) -> Option<ErrorKind> {
    let details = status.get("details").and_then(Value::as_array)?;
    let reasons = details.iter().filter_map(|detail| detail.get("reason")?.as_str());
    let kind = |reason: &str| ErrorKind::ALL.iter().copied().find(|kind| kind.reason() == reason);
    reasons.filter_map(kind).next()
}

/// Returns the error for a status if the body does not name one. Some depend on the operation.
fn by_status(status: u16, operation: Operation) -> Option<ErrorKind> {
    let names_task = matches!(
        operation,
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask
    );
    match status {
        404 if names_task => Some(ErrorKind::TaskNotFound),
        409 => Some(ErrorKind::TaskNotCancelable),
        415 => Some(ErrorKind::ContentTypeNotSupported),
        422 => Some(ErrorKind::InvalidParams),
        501 => Some(ErrorKind::UnsupportedOperation),
        429 => Some(ErrorKind::ResourceExhausted),
        503 => Some(ErrorKind::Unavailable),
        _ => None,
    }
}
