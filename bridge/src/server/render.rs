//! Protocol objects as the bodies of answers, in the version that was asked in.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Response as HttpResponse, StatusCode, header::CONTENT_TYPE},
    response::Response,
};
use bridge_protocol::{
    a2a::{Error, SendMessageResponse, StreamResponse, Task},
    dialect::{Losses, Version},
    jsonrpc::{Id, Response as RpcResponse, RpcError},
};
use serde::Serialize;
use serde_json::Value;

use super::dialect::client_task_id;
use crate::service::StreamItem;

/// The answer to SendMessage in an older version.
pub(super) fn message_result(
    version: Version,
    answer: SendMessageResponse<Arc<Task>>,
    client_id: Option<&str>,
) -> Value {
    let answer = match answer {
        SendMessageResponse::Task(task) => {
            SendMessageResponse::Task(client_task_id::task(Arc::unwrap_or_clone(task), client_id))
        }
        SendMessageResponse::Message(message) => SendMessageResponse::Message(message),
    };
    translated(|losses| version.send_result_from_v1(&answer, losses))
}

/// An error in the body of a response that is otherwise in order.
pub(super) fn error(id: Id, error: Error) -> Response {
    let outcome: Result<(), RpcError> = Err(error.into());
    response(&RpcResponse { id, outcome })
}

/// Writes one item of a stream as a JSON-RPC response.
pub(super) fn item(
    to: &mut Vec<u8>,
    version: Version,
    id: &Id,
    item: StreamItem,
    client_id: Option<&str>,
) {
    let id = id.clone();
    match version {
        Version::V1_0 => {
            let outcome = Ok(item.response);
            write(to, &RpcResponse { id, outcome });
        }
        Version::V0_1 | Version::V0_3 => {
            let outcome = Ok(older_item(version, item, client_id));
            write(to, &RpcResponse { id, outcome });
        }
    }
}

/// One item in an older version, to a client that has an id of its own for the task.
fn older_item(version: Version, item: StreamItem, client_id: Option<&str>) -> Value {
    let goes_on = goes_on(&item);
    let response = client_task_id::item(item.response, client_id);
    translated(|losses| older(version, &response, goes_on, losses))
}

/// Whether a state that would be the last one is not: another turn is heard before the client's own.
pub(super) fn goes_on(item: &StreamItem) -> bool {
    match &item.response {
        StreamResponse::StatusUpdate(update) => {
            item.is_behind && !update.status.state.is_terminal()
        }
        StreamResponse::Task(_)
        | StreamResponse::Message(_)
        | StreamResponse::ArtifactUpdate(_) => false,
    }
}

/// One item in an older version, where `final` tells the client that it need not read on.
pub(super) fn older(
    version: Version,
    response: &StreamResponse,
    goes_on: bool,
    losses: &mut Losses,
) -> Value {
    let mut value = version.stream_item_from_v1(response, losses);
    if let (true, Some(is_final)) = (goes_on, value.get_mut("final")) {
        *is_final = false.into();
    }
    value
}

/// What an older version cannot say is noted for whoever looks for it.
pub(super) fn translated(write: impl FnOnce(&mut Losses) -> Value) -> Value {
    let mut losses = Losses::new();
    let value = write(&mut losses);
    for loss in &losses {
        tracing::debug!(%loss, "not sayable in the client's version");
    }
    value
}

/// A result of about such a size in its envelope.
pub(super) fn json<T: Serialize>(id: Id, size: usize, result: T) -> Response {
    let outcome: Result<T, RpcError> = Ok(result);
    sent(text(size, &RpcResponse { id, outcome }))
}

/// A response in its envelope, whatever came of the request.
pub(super) fn response<T: Serialize>(response: &RpcResponse<T>) -> Response {
    sent(text(0, response))
}

fn sent(text: Vec<u8>) -> Response {
    let mut http = HttpResponse::new(Body::from(text));
    *http.status_mut() = StatusCode::OK;
    let json = axum::http::HeaderValue::from_static("application/json");
    http.headers_mut().insert(CONTENT_TYPE, json);
    http
}

/// What most answers have beside their texts, in bytes: their room need not grow meanwhile.
const ROOM: usize = 1 << 10;

/// Something whose texts have about such a size.
pub(super) fn text(size: usize, value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + ROOM);
    write(&mut text, value);
    text
}

/// Writes something behind what stands there. Protocol objects have string keys and finite numbers, so that
/// cannot fail.
pub(super) fn write(to: &mut Vec<u8>, value: &impl Serialize) {
    let begin = to.len();
    if serde_json::to_writer(&mut *to, value).is_err() {
        to.truncate(begin);
        to.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Metadata, TaskState, TaskStatus, TaskStatusUpdateEvent};

    use super::*;
    use crate::service::Position;

    #[test]
    fn what_another_turn_asks_for_is_not_final() {
        for (is_behind, state, is_final) in [
            (true, TaskState::InputRequired, false),
            (true, TaskState::Failed, true),
            (false, TaskState::InputRequired, true),
            (false, TaskState::Working, false),
        ] {
            let update = StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t".into(),
                context_id: "c".into(),
                status: TaskStatus::new(state.clone()),
                metadata: None,
                extra: Metadata::new(),
            });
            for version in [Version::V0_1, Version::V0_3] {
                let item = StreamItem {
                    position: Position {
                        task: "t".into(),
                        seq: 1,
                    },
                    response: update.clone(),
                    is_behind,
                };
                let write_when_room = older_item(version, item, None);
                assert_eq!(
                    write_when_room["final"], is_final,
                    "{version} {state} {is_behind}"
                );
            }
        }
    }
}
