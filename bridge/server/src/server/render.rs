//! Writes protocol objects as the bodies of responses, in the version of the request.

use std::sync::Arc;

use axum::{
    http::{
        HeaderName, HeaderValue,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    response::Response,
};
use bridge_protocol::{
    a2a::{Error, SendMessageResponse, StreamResponse, Task},
    dialect::{Losses, Version},
    jsonrpc::{Id, Response as RpcResponse, RpcError},
    wire,
};
use serde::Serialize;
use serde_json::Value;

use super::{client_task_id, task_json};
use crate::service::StreamItem;

/// Converts the result of SendMessage to an older version.
pub(super) fn message_result(
    version: Version,
    answer: SendMessageResponse<Arc<Task>>,
    client_id: Option<&str>,
) -> Value {
    let answer =
        answer.map_task(|task| client_task_id::task(Arc::unwrap_or_clone(task), client_id));
    translated(|losses| version.send_result_from_v1(&answer, losses))
}

/// Returns a JSON-RPC error with HTTP status 200.
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
            let outcome = Ok(convert_item(version, item, client_id));
            write(to, &RpcResponse { id, outcome });
        }
    }
}

/// Converts an item to an older version, with the task id that the client chose, if any.
fn convert_item(version: Version, item: StreamItem, client_id: Option<&str>) -> Value {
    let turn_continues = turn_continues(&item);
    let response = client_task_id::item(item.response, client_id);
    translated(|losses| convert_stream_item(version, &response, turn_continues, losses))
}

/// Returns whether a state that would end the stream does not end it, because it belongs to a turn before the client's
/// own.
pub(super) fn turn_continues(item: &StreamItem) -> bool {
    match &item.response {
        StreamResponse::StatusUpdate(update) => {
            item.is_behind && !update.status.state.is_terminal()
        }
        StreamResponse::Task(_)
        | StreamResponse::Message(_)
        | StreamResponse::ArtifactUpdate(_) => false,
    }
}

/// Converts an item to an older version, in which `final` marks the last item.
pub(super) fn convert_stream_item(
    version: Version,
    response: &StreamResponse,
    turn_continues: bool,
    losses: &mut Losses,
) -> Value {
    let mut value = version.stream_item_from_v1(response, losses);
    if let (true, Some(is_final)) = (turn_continues, value.get_mut("final")) {
        *is_final = false.into();
    }
    value
}

/// Converts an object to an older version, and logs the parts that the version cannot express.
pub(super) fn translated(write: impl FnOnce(&mut Losses) -> Value) -> Value {
    let mut losses = Losses::new();
    let value = write(&mut losses);
    for loss in &losses {
        tracing::debug!(%loss, "not expressible in the client's version");
    }
    value
}

/// Returns a response with a result of about this size in its envelope.
pub(super) fn json<T: Serialize>(id: Id, size: usize, result: T) -> Response {
    let outcome: Result<T, RpcError> = Ok(result);
    json_response(text(size, &RpcResponse { id, outcome }))
}

/// Returns a JSON-RPC response whose result is this task. `size` is the approximate size of the task in bytes.
pub(super) fn task(id: &Id, size: usize, task: &Arc<Task>) -> Response {
    let mut text = Vec::with_capacity(size + ROOM);
    text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write(&mut text, id);
    text.extend_from_slice(br#","result":"#);
    task_json::write(&mut text, task);
    text.push(b'}');
    json_response(text)
}

/// Returns a task as JSON of A2A 1.0. `size` is the approximate size of the task in bytes.
pub(super) fn task_text(size: usize, task: &Arc<Task>) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + ROOM);
    task_json::write(&mut text, task);
    text
}

/// Returns a response with a result or an error in its envelope.
pub(super) fn response<T: Serialize>(response: &RpcResponse<T>) -> Response {
    json_response(text(0, response))
}

fn json_response(text: Vec<u8>) -> Response {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the header that says after how many seconds to send the request again, for errors that pass.
pub(super) fn retry_after(error: &Error) -> Option<[(HeaderName, u32); 1]> {
    error.retry_after().map(|seconds| [(RETRY_AFTER, seconds)])
}

/// The size of most responses beside their texts, in bytes. It is reserved, so that the buffer need not grow.
const ROOM: usize = 1 << 10;

/// Writes a value whose texts have about this size.
pub(super) fn text(size: usize, value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + ROOM);
    write(&mut text, value);
    text
}

/// Appends a value to the buffer. Protocol objects have string keys and finite numbers, so this cannot fail.
pub(super) fn write(to: &mut Vec<u8>, value: &impl Serialize) {
    let begin = to.len();
    if wire::write_json(to, value).is_err() {
        to.truncate(begin);
        to.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Metadata, TaskState, TaskStatus, TaskStatusUpdateEvent};

    use super::*;
    use crate::service::Position;

    #[tokio::test]
    async fn a_task_is_a_result_in_the_usual_envelope() {
        let task = Arc::new(Task::new("t", TaskStatus::new(TaskState::Working)));
        for id in [Id::Number(7.into()), Id::String("\"7\"".into())] {
            let envelope = RpcResponse { id: id.clone(), outcome: Ok(&*task) };
            let body = super::task(&id, 0, &task).into_body();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            assert_eq!(body, serde_json::to_string(&envelope).unwrap());
        }
    }

    #[test]
    fn a_state_of_an_earlier_turn_is_not_final() {
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
            for version in Version::ALL.into_iter().filter(|one| *one != Version::V1_0) {
                let item = StreamItem {
                    position: Position { task: "t".into(), seq: 1 },
                    response: update.clone(),
                    is_behind,
                };
                let written = convert_item(version, item, None);
                assert_eq!(written["final"], is_final, "{version} {state} {is_behind}");
            }
        }
    }
}
