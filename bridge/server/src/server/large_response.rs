//! Delays large responses until there is memory to send them.

use axum::response::Response;
use bridge_program::{LARGE_RESPONSE, ResponseMemory, ResponsePermit, large_responses};
use bridge_protocol::{a2a::Error, dialect::Call};

use super::large_body::write_large;
use crate::service::{Context, Reply, Service};

/// Calls an operation. Returns the reply, and the reserved memory for sending it if it is large. A read-only call is
/// repeated once there is memory, so that a waiting request holds no reply.
pub(super) async fn call_with_permit(
    service: &Service,
    context: &Context,
    call: Box<Call>,
) -> Result<(Reply, Option<ResponsePermit>), Error> {
    // This comes first, so that no reply is held while waiting.
    service.await_news(context, &call).await;
    let memory = ResponseMemory::of_client();
    let Some(name) = read_only_key(&call) else {
        let reply = service.call(context, call).await?;
        let size = reply.size();
        if let (LARGE_RESPONSE.., Some(task)) = (size, reply.task()) {
            large_responses().remember_large(task);
        }
        let permit = memory.reserve(size).await;
        return Ok((reply, permit));
    };
    let read_permit = large_responses().read_permit(&name).await;
    let again = call.clone();
    let reply = service.call(context, call).await?;
    let size = reply.size();
    if size < LARGE_RESPONSE {
        return Ok((reply, None));
    }
    large_responses().remember_large(&name);
    if let Some(permit) = memory.try_reserve(size) {
        return Ok((reply, Some(permit)));
    }
    drop((reply, read_permit));
    let permit = memory.reserve(size).await;
    // Boxed because it is rarely needed.
    let again = Box::pin(service.call(context, again));
    Ok((again.await?, permit))
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
    permit: Option<ResponsePermit>,
    write: impl FnOnce() -> Response,
) -> Response {
    let size = if permit.is_some() { LARGE_RESPONSE } else { 0 };
    let mut response = write_large(size, write).await;
    if let Some(permit) = permit {
        response.extensions_mut().insert(permit);
    }
    response
}
