//! Writes streams as server-sent events, each with its position in the log as id.
//!
//! An event is written once, directly as the bytes that are sent: compact JSON has no line breaks, so it is one line of
//! data.

use std::{
    fmt::Display,
    io::{self, Write as _},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::Response,
};
use bridge_protocol::{
    a2a::Error,
    dialect::Version,
    jsonrpc::{Id, Response as RpcResponse, RpcError},
};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Serialize;
use tokio::{task::yield_now, time::timeout};

use super::{large_body::write_item, render};
use crate::service::{StreamItem, StreamItems, is_stopping};

/// The interval at which an idle stream sends a comment to keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The size of most events in bytes, beside their texts. It is reserved, so that the buffer need not grow.
const ROOM: usize = 512;

const STOPPING: &[u8] = b": the server is stopping, resume the stream\nretry: 1000\n\n";

/// Returns a stream of JSON-RPC responses.
pub(super) fn rpc_stream(
    version: Version,
    id: Id,
    items: StreamItems,
    client_id: Option<String>,
) -> Response {
    let client = Arc::new((id, client_id));
    let failed = client.clone();
    let write = move |to: &mut Vec<u8>, item| {
        render::item(to, version, &client.0, item, client.1.as_deref());
    };
    stream(items, write, move |error| error_event(failed.0.clone(), error))
}

/// Returns a stream of items, each with its position in the log as id. An error ends the stream, as an event of its own
/// unless the stream continues elsewhere.
pub(super) fn stream(
    items: StreamItems,
    write: impl Fn(&mut Vec<u8>, StreamItem) + Clone + Send + 'static,
    failed: impl Fn(Error) -> Bytes + Clone + Send + 'static,
) -> Response {
    response(items.then(move |item| {
        let (write, failed) = (write.clone(), failed.clone());
        match item {
            Ok(item) => {
                let (size, position) = (item.size(), item.position.clone());
                write_item(size, move || {
                    write_event(size + ROOM, None, Some(&position), |to| write(to, item))
                })
            }
            Err(error) if is_stopping(&error) => write_item(0, stopping),
            Err(error) => write_item(0, move || failed(error)),
        }
    }))
}

/// Returns a stream whose only event is a JSON-RPC error.
pub(super) fn refusal(id: Id, error: Error) -> Response {
    response(stream::iter([error_event(id, error)]))
}

fn error_event(id: Id, error: Error) -> Bytes {
    let outcome: Result<(), RpcError> = Err(error.into());
    write_event(ROOM, None, None, |to| {
        render::write(to, &RpcResponse { id, outcome });
    })
}

/// Returns a comment that the stream continues elsewhere, with the time after which a browser retries. [`response`]
/// then breaks the stream off, because a stream that ended would mean that its turn has ended.
fn stopping() -> Bytes {
    Bytes::from_static(STOPPING)
}

/// Writes an event with this name.
pub(super) fn named_event(name: &str, data: &impl Serialize) -> Bytes {
    write_event(ROOM, Some(name), None, |to| render::write(to, data))
}

/// The id comes last: some clients resume after an id as soon as they have read it, and would miss an event that is cut off in its data.
fn write_event(
    room: usize,
    name: Option<&str>,
    id: Option<&dyn Display>,
    write: impl FnOnce(&mut Vec<u8>),
) -> Bytes {
    let mut event = Vec::with_capacity(room);
    // Writing to memory cannot fail.
    if let Some(name) = name {
        let _ = writeln!(event, "event: {name}");
    }
    event.extend_from_slice(b"data: ");
    write(&mut event);
    if let Some(id) = id {
        let _ = write!(event, "\nid: {id}");
    }
    event.extend_from_slice(b"\n\n");
    event.into()
}

/// Returns a response with a stream of events, and with comments while it is idle.
fn response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let alive = stream::unfold(Some(events.boxed()), async |events| {
        let Some(mut events) = events else {
            // The server writes what it has while this waits; an error would drop it.
            yield_now().await;
            return Some((Err(io::Error::other("the server is stopping")), None));
        };
        let event = timeout(KEEP_ALIVE, events.next()).await;
        let silent = Bytes::from_static(b":\n\n");
        let event = event.unwrap_or(Some(silent))?;
        let events = (event != STOPPING).then_some(events);
        Some((Ok(event), events))
    });
    let mut response = Response::new(Body::from_stream(alive));
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_static("text/event-stream");
    headers.insert(CONTENT_TYPE, media_type);
    // Proxies that compress, such as those on Express, keep events back until the end unless they may change nothing.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Otherwise some proxies would buffer the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[test]
    fn an_event_is_a_line_for_each_field() {
        let event = write_event(0, None, Some(&"t/7"), |to| render::write(to, &"a\nb"));
        assert_eq!(event, "data: \"a\\nb\"\nid: t/7\n\n");
        assert_eq!(named_event("error", &1), "event: error\ndata: 1\n\n");
    }

    #[tokio::test]
    async fn a_stream_that_continues_elsewhere_is_ended() {
        let events = stream::iter([named_event("one", &1), stopping(), named_event("two", &2)]);
        let mut pieces = response(events).into_body().into_data_stream();
        assert_eq!(pieces.next().await.unwrap().unwrap(), "event: one\ndata: 1\n\n");
        assert_eq!(pieces.next().await.unwrap().unwrap(), STOPPING);
        assert!(pieces.next().await.unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_stream_sends_comments() {
        let late = stream::once(async {
            tokio::time::sleep(2 * KEEP_ALIVE + KEEP_ALIVE / 2).await;
            named_event("late", &1)
        });
        let body = response(late).into_body();
        let body = to_bytes(body, 1 << 10).await.unwrap();
        assert_eq!(body, ":\n\n:\n\nevent: late\ndata: 1\n\n");
    }
}
