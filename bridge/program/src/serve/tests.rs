//! Tests with slow, silent and many clients.

use std::{convert::Infallible, future::pending, pin::pin, time::Instant};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Response, request::Parts},
    routing::{get, post},
};
use futures_util::stream;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::{Notify, mpsc},
};

use super::*;

mod busy;
mod content;

/// The time that a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(120);

/// A request without a body.
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// An app with a few simple handlers.
fn app() -> Router {
    Router::new()
        .route("/", get(async || "well"))
        .route("/unread", post(async || "unread"))
        .route("/read", post(async |body: Bytes| body.len().to_string()))
        .route("/never", get(async || pending::<()>().await))
}

/// Serves an app within limits, until the test ends.
async fn start(app: Router, limits: Limits) -> SocketAddr {
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_within(limits, listener, PlainTcp, app, pending()));
    address
}

async fn connect_and_send(address: SocketAddr, text: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(text.as_bytes()).await.unwrap();
    connection
}

/// Reads until the bytes end with `end`, or the connection is closed.
async fn read_until(connection: &mut TcpStream, end: &str) -> String {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    let reading = async {
        while !read.ends_with(end.as_bytes()) || end.is_empty() {
            match connection.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(length) => read.extend_from_slice(&buffer[..length]),
            }
        }
    };
    let in_time = timeout(PATIENCE, reading).await.is_ok();
    let read = String::from_utf8(read).unwrap();
    assert!(in_time, "{end:?} comes after {read:?}");
    read
}

/// Reads until the connection is closed.
async fn read_all(connection: &mut TcpStream) -> String {
    read_until(connection, "").await
}

#[tokio::test]
async fn an_unread_body_does_not_break_the_next_request() {
    let address = start(app(), Limits::default()).await;
    let head = "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    let mut connection = connect_and_send(address, head).await;
    let response = read_until(&mut connection, "unread").await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    connection.write_all(b"hello").await.unwrap();
    connection.write_all(GET.as_bytes()).await.unwrap();
    let response = read_until(&mut connection, "well").await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response:?}");
}

/// RFC 9112, 3.2.
#[tokio::test]
async fn a_request_names_one_host() {
    let address = start(app(), Limits::default()).await;
    for (head, status) in [
        ("HTTP/1.1\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost: a\r\nHost: b\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost: me@a\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost: a b\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost: a, b\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost: a/b\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost:\r\n", "200 OK"),
        ("HTTP/1.1\r\nHost: my_box.:80\r\n", "200 OK"),
        ("HTTP/1.1\r\nHost: [::1]:80\r\n", "200 OK"),
        ("HTTP/1.0\r\n", "200 OK"),
        ("HTTP/1.0\r\nHost: a\r\nHost: a\r\n", "400 Bad Request"),
    ] {
        let head = format!("GET / {head}Connection: close\r\n\r\n");
        let mut connection = connect_and_send(address, &head).await;
        let response = read_all(&mut connection).await;
        let first = response.lines().next().unwrap_or_default();
        assert!(first.ends_with(status), "{head:?}: {response}");
    }
}

#[tokio::test]
async fn half_a_head_is_given_up() {
    let head = Duration::from_millis(50);
    let address = start(app(), Limits { head, ..Limits::default() }).await;
    assert_eq!(read_all(&mut connect_and_send(address, "GET / HT").await).await, "");
    let mut connection = connect_and_send(address, GET).await;
    read_until(&mut connection, "well").await;
    connection.write_all(b"GET").await.unwrap();
    assert_eq!(read_all(&mut connection).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_kept_until_its_limit() {
    let (head, idle) = (Duration::from_millis(10), Duration::from_secs(1));
    let limits = Limits { head, idle, ..Limits::default() };
    let mut connection = connect_and_send(start(app(), limits).await, "").await;
    for _ in 0..2 {
        sleep(head * 5).await;
        connection.write_all(GET.as_bytes()).await.unwrap();
        assert!(read_until(&mut connection, "well").await.contains("200"));
    }
    assert_eq!(read_all(&mut connection).await, "");
}

#[tokio::test]
async fn half_a_body_is_answered_with_408() {
    let body = Duration::from_millis(50);
    let address = start(app(), Limits { body, ..Limits::default() }).await;
    let request = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel";
    let response = read_all(&mut connect_and_send(address, request).await).await;
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
}

#[tokio::test]
async fn a_large_body_is_read_to_its_end() {
    let address = start(app(), Limits::default()).await;
    let body = "x".repeat(200_000);
    for (name, body) in [
        ("Content-Length: 200000", body.clone()),
        ("Transfer-Encoding: chunked", format!("30d40\r\n{body}\r\n0\r\n\r\n")),
    ] {
        let request = format!("POST /read HTTP/1.1\r\nHost: a\r\n{name}\r\n\r\n{body}");
        let mut connection = connect_and_send(address, &request).await;
        let response = read_until(&mut connection, "200000").await;
        assert!(response.starts_with("HTTP/1.1 200"), "{name}: {response}");
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected() {
    let limits = Limits { stalled: Duration::from_millis(100), ..Limits::default() };
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let endless = move || {
        let (guard, piece) = (NotifyOnDrop(dropped.clone()), Bytes::from(vec![b'x'; 1 << 16]));
        let pieces = stream::repeat_with(move || {
            let _ = &guard;
            Ok::<_, Infallible>(piece.clone())
        });
        std::future::ready(Body::from_stream(pieces))
    };
    let address = start(Router::new().route("/", get(endless)), limits).await;
    let connection = connect_and_send(address, GET).await;
    timeout(PATIENCE, drops.recv()).await.unwrap().unwrap();
    drop(connection);
}

/// Sends a message when it is dropped.
struct NotifyOnDrop(mpsc::UnboundedSender<()>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn an_excess_connection_is_refused_with_retry_after() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let address = start(app(), limits).await;
    let _silent = [connect_and_send(address, "").await, connect_and_send(address, "").await];
    let (_busy, refused) = fill(address).await;
    assert!(refused.starts_with("TTP/1.1 503"), "{refused}");
    assert!(refused.to_lowercase().contains("retry-after: 1"), "{refused}");
}

/// Opens connections whose requests are never answered, until one is refused. Returns them and the response to that one.
async fn fill(address: SocketAddr) -> (Vec<TcpStream>, String) {
    let mut busy = Vec::new();
    loop {
        let mut connection =
            connect_and_send(address, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let mut first = [0];
        tokio::select! {
            read = connection.read(&mut first) => {
                assert_eq!(read.unwrap(), 1);
                return (busy, read_until(&mut connection, "at once").await);
            }
            () = sleep(Duration::from_millis(20)) => busy.push(connection),
        }
    }
}

#[tokio::test]
async fn connections_and_requests_are_reserved_for_some_paths() {
    for limits in [
        Limits { connections: 4, ..Limits::default() },
        Limits { requests: 4, ..Limits::default() },
    ] {
        let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = App::from(app()).with_reserve(|path| path == "/");
        tokio::spawn(serve_within(limits, listener, PlainTcp, app, pending()));
        let (_busy, _) = fill(address).await;
        for _ in 0..3 {
            let mut connection = connect_and_send(address, GET).await;
            let response = read_until(&mut connection, "well").await;
            assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        }
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_rejected_in_the_form_of_the_app() {
    let reject = |head: &Parts, reason: Rejection| {
        let content_type = head.headers.get("content-type");
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut response = Response::new(Body::from(format!("{} {content_type}", head.uri)));
        *response.status_mut() = reason.status();
        response
    };
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::from(app()).with_rejections(reject);
    tokio::spawn(serve(listener, app, pending()));
    let large = format!(
        "POST /a2a HTTP/1.1\r\nContent-Type: application/json\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    for before in ["", GET] {
        let mut connection = connect_and_send(address, before).await;
        if !before.is_empty() {
            read_until(&mut connection, "well").await;
        }
        let (mut reading, mut writing) = connection.split();
        let mut response = String::new();
        let both = async {
            tokio::join!(writing.write_all(large.as_bytes()), reading.read_to_string(&mut response))
        };
        let (_, read) = timeout(PATIENCE, both).await.unwrap();
        read.unwrap();
        assert!(response.starts_with("HTTP/1.1 431"), "{response}");
        assert!(response.ends_with("/a2a application/json"), "{response}");
    }
}

#[tokio::test]
async fn an_excess_request_is_refused_with_retry_after() {
    let limits = Limits { requests: 1, ..Limits::default() };
    let (begun, app) = (Arc::new(Notify::new()), Router::new());
    let held = begun.clone();
    let never = move || {
        held.notify_one();
        pending::<()>()
    };
    let app = app.route("/never", get(never)).route("/", get(async || "well"));
    let address = start(app, limits).await;
    let never = connect_and_send(address, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    timeout(PATIENCE, begun.notified()).await.unwrap();
    let mut connection = connect_and_send(address, GET).await;
    let response = read_until(&mut connection, "at once").await;
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    assert!(response.to_lowercase().contains("retry-after: 1"), "{response}");
    drop(never);
    // The connection can still be used.
    loop {
        connection.write_all(GET.as_bytes()).await.unwrap();
        let mut response = [0; 512];
        let length = connection.read(&mut response).await.unwrap();
        if response[..length].starts_with(b"HTTP/1.1 200") {
            break;
        }
    }
}

#[tokio::test]
async fn a_stop_waits_for_open_requests() {
    let (go, wait) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (gone, begun) = (go.clone(), wait.clone());
    let slow = async move || {
        begun.notify_one();
        gone.notified().await;
        "done"
    };
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let stopping = async move { stopped.notified().await };
    let app = Router::new().route("/", get(slow));
    let serving = tokio::spawn(serve(listener, app, stopping));
    let mut connection = connect_and_send(address, GET).await;
    let mut idle = connect_and_send(address, "").await;
    timeout(PATIENCE, wait.notified()).await.unwrap();
    stop.notify_one();
    // An idle connection is closed, and no new one is accepted.
    assert_eq!(read_all(&mut idle).await, "");
    assert!(!serving.is_finished());
    go.notify_one();
    assert!(read_all(&mut connection).await.ends_with("done"));
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_request_that_comes_at_the_last_moment_is_read() {
    let limits = Limits { idle: Duration::ZERO, ..Limits::default() };
    for (has_request, expected) in [(true, LastRead::Request), (false, LastRead::Nothing)] {
        let monitor = ConnectionMonitor::new();
        monitor.request_began();
        monitor.request_ended();
        assert_eq!(monitor.expired(&limits).await, "it is idle");
        let reading = async {
            if has_request {
                monitor.request_began();
            }
            pending::<()>().await;
        };
        assert_eq!(last_read(pin!(reading), &monitor, &limits).await, expected);
        let closed = pin!(std::future::ready(()));
        assert_eq!(last_read(closed, &monitor, &limits).await, LastRead::End);
    }
}

/// At the same moment the idle limit is over and a request arrives. Chance decides which of them the server sees first.
#[tokio::test]
async fn a_request_at_the_end_of_the_idle_time_is_answered() {
    let idle = Duration::from_millis(60);
    let limits = Limits { idle, ..Limits::default() };
    let address = start(app(), limits).await;
    for _ in 0..20 {
        let began = Instant::now();
        let mut connection = connect_and_send(address, GET).await;
        read_until(&mut connection, "well").await;
        connection.try_write(GET.as_bytes()).unwrap();
        // On a busy machine the connection may have been closed before the request was sent.
        if began.elapsed() < idle {
            std::thread::sleep(idle);
            assert!(read_until(&mut connection, "well").await.contains("200"));
        }
    }
}

/// Sends the next event of a stream. The stream ends when this is dropped.
type EventSender = mpsc::UnboundedSender<&'static str>;

/// Returns an app with event streams, and the senders of the streams in the order of their requests.
fn streaming_app() -> (Router, mpsc::UnboundedReceiver<EventSender>) {
    let (opened, streams) = mpsc::unbounded_channel();
    let open = move |_: Bytes| {
        let (sender, events) = mpsc::unbounded_channel::<&str>();
        opened.send(sender).unwrap();
        let events = stream::unfold(events, async |mut events| {
            let text = events.recv().await?;
            Some((Ok::<_, Infallible>(text), events))
        });
        let content_type = [("content-type", "text/event-stream")];
        std::future::ready((content_type, Body::from_stream(events)))
    };
    let router = app().route("/events", post(open));
    (router, streams)
}

#[tokio::test]
async fn an_idle_stream_continues_and_the_next_request_is_answered() {
    let (app, mut streams) = streaming_app();
    let address = start(app, Limits::default()).await;
    let request = "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let chunked = "POST /events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let mut connection = connect_and_send(address, request).await;
    for next in [chunked, request, GET] {
        let sender = timeout(PATIENCE, streams.recv()).await.unwrap().unwrap();
        let head = read_until(&mut connection, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        sender.send("one").unwrap();
        assert_eq!(read_until(&mut connection, "one\r\n").await, "3\r\none\r\n");
        // The next request may begin before the stream has ended.
        let (begin, rest) = next.split_at(20);
        connection.write_all(begin.as_bytes()).await.unwrap();
        sender.send("number two, longer").unwrap();
        let two = "12\r\nnumber two, longer\r\n";
        assert_eq!(read_until(&mut connection, two).await, two);
        drop(sender);
        assert_eq!(read_until(&mut connection, "0\r\n\r\n").await, "0\r\n\r\n");
        connection.write_all(rest.as_bytes()).await.unwrap();
    }
    assert!(read_until(&mut connection, "well").await.contains("200"));
}

#[tokio::test]
async fn a_stream_ends_when_its_client_leaves() {
    let (app, mut streams) = streaming_app();
    let address = start(app, Limits::default()).await;
    let request = "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let mut connection = connect_and_send(address, request).await;
    read_until(&mut connection, "\r\n\r\n").await;
    let sender = streams.recv().await.unwrap();
    drop(connection);
    timeout(PATIENCE, sender.closed()).await.unwrap();
}

#[tokio::test]
async fn a_stream_closes_its_connection_if_the_client_asks_for_that() {
    let (app, mut streams) = streaming_app();
    let address = start(app, Limits::default()).await;
    for (version, close) in [("1.1", "Connection: Close\r\n"), ("1.0", "")] {
        let request = format!(
            "POST /events HTTP/{version}\r\nHost: a\r\n{close}Content-Length: 2\r\n\r\n{{}}"
        );
        let mut connection = connect_and_send(address, &request).await;
        read_until(&mut connection, "\r\n\r\n").await;
        let sender = streams.recv().await.unwrap();
        sender.send("all").unwrap();
        drop(sender);
        assert!(read_all(&mut connection).await.contains("all"), "{version}");
    }
}

#[tokio::test]
async fn a_stop_waits_for_streams_and_closes_their_connections() {
    let (app, mut streams) = streaming_app();
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let serving = tokio::spawn(serve(listener, app, async move { stopped.notified().await }));
    let request = "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let mut connection = connect_and_send(address, request).await;
    read_until(&mut connection, "\r\n\r\n").await;
    let sender = streams.recv().await.unwrap();
    stop.notify_one();
    sender.send("the end").unwrap();
    assert!(read_until(&mut connection, "end\r\n").await.ends_with("the end\r\n"));
    drop(sender);
    assert_eq!(read_all(&mut connection).await, "0\r\n\r\n");
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn large_heads_share_a_limit_and_small_heads_are_free() {
    let limits = Limits { bytes: 64 << 10, ..Limits::default() };
    let address = start(app(), limits).await;
    let half = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(20 << 10));
    // One address has half of the limit: the first head holds 24 KiB of 32 KiB.
    let mut first = connect_and_send(address, &half).await;
    let mut refused = connect_and_send(address, &half).await;
    let responses = async {
        tokio::select! {
            one = read_all(&mut first) => (one, false),
            other = read_all(&mut refused) => (other, true),
        }
    };
    let (response, is_other) = timeout(PATIENCE, responses).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    assert!(response.contains("retry-after: 1"), "{response}");
    let mut small = connect_and_send(address, GET).await;
    assert!(read_until(&mut small, "well").await.contains("200"));
    let accepted = if is_other { &mut first } else { &mut refused };
    accepted.write_all(b"\r\n\r\n").await.unwrap();
    assert!(read_until(accepted, "well").await.contains("200"));
    // The memory of that request is free again.
    let whole = format!("{half}\r\n\r\n");
    let mut next = connect_and_send(address, &whole).await;
    assert!(read_until(&mut next, "well").await.contains("200"));
}
