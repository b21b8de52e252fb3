//! Large answers, which are not made before there is room to send them.

use axum::response::Response;
use bridge_program::outgoing;

use crate::service::Reply;

/// The response that is made of a reply. A large one has room among those that are being sent until it was.
pub(super) async fn sent(reply: Reply, write: impl FnOnce(Reply) -> Response) -> Response {
    let room = outgoing().room(reply.size()).await;
    let mut response = write(reply);
    if let Some(room) = room {
        response.extensions_mut().insert(room);
    }
    response
}
