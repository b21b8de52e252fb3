//! Large answers, which are not made before there is room to send them.

use axum::response::Response;
use bridge_program::{LARGE, Room, outgoing};
use bridge_protocol::{a2a::Error, dialect::Call};

use super::large_body::write_when_room;
use crate::service::{Context, Reply, Service};

/// What comes of a call, with the room to send it, if it is large. What only reads is read again once there is
/// room: whoever waits for it holds nothing meanwhile.
pub(super) async fn call_with_room(
    service: &Service,
    context: &Context,
    call: Call,
) -> Result<(Reply, Option<Room>), Error> {
    // Before anything else, so that nothing is held meanwhile.
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
    Ok((service.call(context, again).await?, room))
}

/// What a call only reads, by a name.
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

/// The response that is written, with the room that is kept until it was sent; a large one apart.
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
