//! Streams as server-sent events, each with its place in the log as id.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse as _, Response,
    sse::{Event, KeepAlive, Sse},
};
use bridge_protocol::{
    a2a::Error,
    dialect::Version,
    jsonrpc::{Id, Response as RpcResponse, RpcError},
};
use futures_util::{Stream, StreamExt as _};

use super::{parse::written, render};
use crate::service::{Item, Items};

/// How often a silent stream shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream of JSON-RPC responses.
pub(super) fn stream(
    version: Version,
    id: Id,
    items: Items,
    client_id: Option<String>,
) -> Response {
    let client = Arc::new((id, client_id));
    let events = items.then(move |item| event(version, client.clone(), item));
    response(events)
}

async fn event(
    version: Version,
    client: Arc<(Id, Option<String>)>,
    item: Result<Item, Error>,
) -> Event {
    let (id, client_id) = &*client;
    match item {
        Ok(item) => {
            let event = Event::default().id(item.position.to_string());
            let size = item.size();
            let write = || event.data(render::item(version, id, item, client_id.as_deref()));
            written(size, write).await
        }
        Err(error) => {
            let outcome: Result<(), RpcError> = Err(error.into());
            let id = id.clone();
            Event::default().data(render::text(&RpcResponse { id, outcome }))
        }
    }
}

/// A stream that shows that it lives.
pub(super) fn response(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let mut response = Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response();
    // Proxies that buffer would keep the events back.
    let no = axum::http::HeaderValue::from_static("no");
    response.headers_mut().insert("x-accel-buffering", no);
    response
}
