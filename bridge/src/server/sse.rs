//! Streams as server-sent events, each with its place in the log as id.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse as _, Response,
    sse::{Event, KeepAlive, Sse},
};
use bridge_protocol::{
    dialect::Version,
    jsonrpc::{Id, Response as RpcResponse, RpcError},
};
use futures_util::{Stream, StreamExt as _};

use super::{parse::apart, render};
use crate::service::Items;

/// How often a silent stream shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream of JSON-RPC responses.
pub(super) fn stream(
    version: Version,
    id: Id,
    items: Items,
    client_id: Option<String>,
) -> Response {
    let events = items.map(move |item| match item {
        Ok(item) => Event::default()
            .id(item.position.to_string())
            .data(apart(item.size(), || {
                render::item(version, &id, item, client_id.as_deref())
            })),
        Err(error) => {
            let outcome: Result<(), RpcError> = Err(error.into());
            Event::default().data(render::text(&RpcResponse {
                id: id.clone(),
                outcome,
            }))
        }
    });
    response(events)
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
