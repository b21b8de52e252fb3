//! Delays large responses until there is memory to send them.

use axum::response::Response;
use bridge_program::{LARGE, Room, outgoing};
use bridge_protocol::{a2a::Error, dialect::Call};

use super::large_body::write_when_room;
use crate::service::{Context, Reply, Service};

/// Calls an operation. Returns the reply, and the reserved memory for sending it if it is large. A read-only call is
/// repeated once there is memory, so that a waiting request holds no reply.
pub(super) async fn call_with_room(
    service: &Service,
    context: &Context,
    call: Box<Call>,
) -> Result<(Reply, Option<Room>), Error> {
    // First of all, so that nothing is held while waiting.
    service.await_news(context, &call).await;
    let Some(name) = read_only_key(&call) else {
        let reply = service.call(context, call).await?;
        let size = reply.size();
        if let (LARGE.., Some(task)) = (size, reply.task()) {
            outgoing().remember(task);
        }
        let room = outgoing().room(size).await;
        return Ok((reply, room));
    };
    let reading = outgoing().reading(&name).await;
    let again = call.clone();
    let reply = service.call(context, call).await?;
    let size = reply.size();
    if size < LARGE {
        return Ok((reply, None));
    }
    outgoing().remember(&name);
    if let Some(room) = outgoing().room_now(size) {
        return Ok((reply, Some(room)));
    }
    drop((reply, reading));
    let room = outgoing().room(size).await;
    // Boxed because it is rarely needed.
    let again = Box::pin(service.call(context, again));
    Ok((again.await?, room))
}

/// Returns a key for the data that a read-only call reads; `None` for other calls.
fn read_only_key(call: &Call) -> Option<String> {
    match call {
        Call::GetTask(request) => Some(request.id.clone()),
        Call::ListTasks(_) => Some("all".to_owned()),
        Call::SendMessage(_)
        | Call::SendStreamingMessage(_)
        | Call::CancelTask(_)
        | Call::SubscribeToTask(_)
        | Call::CreateTaskPushNotificationConfig(_)
        | Call::GetTaskPushNotificationConfig(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
        | Call::GetExtendedAgentCard(_) => None,
    }
}

/// Writes the response. The reserved memory is attached to it, so that it is released once the response was sent.
pub(super) async fn build_response(
    room: Option<Room>,
    write: impl FnOnce() -> Response,
) -> Response {
    let size = if room.is_some() { LARGE } else { 0 };
    let mut response = write_when_room(size, write).await;
    if let Some(room) = room {
        response.extensions_mut().insert(room);
    }
    response
}
