//! What slow, silent and many clients get.

use std::{convert::Infallible, future::pending, pin::pin, time::Instant};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Response, request::Parts},
    routing::{get, post},
};
use futures_util::stream;
use tokio::sync::{Notify, mpsc};

use super::*;

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// An app whose handlers need no more than these.
fn app() -> Router {
    Router::new()
        .route("/", get(async || "well"))
        .route("/unread", post(async || "unread"))
        .route("/read", post(async |body: Bytes| body.len().to_string()))
        .route("/never", get(async || pending::<()>().await))
}

/// Serves an app within limits, until the test ends.
async fn served(app: Router, limits: Limits) -> SocketAddr {
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_within(limits, listener, Plain, app, pending()));
    address
}

async fn connected(address: SocketAddr, said: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(said.as_bytes()).await.unwrap();
    connection
}

/// What comes until these bytes have come, or the connection is closed.
async fn until(connection: &mut TcpStream, end: &str) -> String {
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

/// All that comes until the connection is closed.
async fn all(connection: &mut TcpStream) -> String {
    until(connection, "").await
}

#[tokio::test]
async fn a_body_that_nobody_reads_does_not_cost_the_next_request() {
    let address = served(app(), Limits::default()).await;
    let head = "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    let mut connection = connected(address, head).await;
    let answer = until(&mut connection, "unread").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    connection.write_all(b"hello").await.unwrap();
    connection
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .unwrap();
    let answer = until(&mut connection, "well").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
}

#[tokio::test]
async fn half_a_head_is_not_waited_for() {
    let head = Duration::from_millis(50);
    let address = served(
        app(),
        Limits {
            head,
            ..Limits::default()
        },
    )
    .await;
    for said in ["", "GET / HT"] {
        assert_eq!(all(&mut connected(address, said).await).await, "", "{said}");
    }
    let mut connection = connected(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    until(&mut connection, "well").await;
    connection.write_all(b"GET").await.unwrap();
    assert_eq!(all(&mut connection).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_its_time() {
    let limits = Limits {
        head: Duration::from_millis(10),
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    let address = served(app(), limits).await;
    let asked = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut connection = connected(address, asked).await;
    until(&mut connection, "well").await;
    connection.write_all(asked.as_bytes()).await.unwrap();
    assert!(until(&mut connection, "well").await.contains("200"));
    assert_eq!(all(&mut connection).await, "");
}

#[tokio::test]
async fn half_a_body_is_not_waited_for() {
    let body = Duration::from_millis(50);
    let address = served(
        app(),
        Limits {
            body,
            ..Limits::default()
        },
    )
    .await;
    let asked = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel";
    let answer = all(&mut connected(address, asked).await).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn a_large_body_is_read_whole() {
    let address = served(app(), Limits::default()).await;
    let body = "x".repeat(200_000);
    for (name, body) in [
        ("Content-Length: 200000", body.clone()),
        (
            "Transfer-Encoding: chunked",
            format!("30d40\r\n{body}\r\n0\r\n\r\n"),
        ),
    ] {
        let asked = format!("POST /read HTTP/1.1\r\nHost: a\r\n{name}\r\n\r\n{body}");
        let mut connection = connected(address, &asked).await;
        let answer = until(&mut connection, "200000").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
    }
}

#[tokio::test]
async fn a_reader_who_takes_nothing_is_cut_off() {
    let limits = Limits {
        stalled: Duration::from_millis(100),
        ..Limits::default()
    };
    let (told, mut gone) = mpsc::unbounded_channel();
    let endless = move || {
        let (told, piece) = (Told(told.clone()), Bytes::from(vec![b'x'; 1 << 16]));
        let pieces = stream::repeat_with(move || {
            let _ = &told;
            Ok::<_, Infallible>(piece.clone())
        });
        std::future::ready(Body::from_stream(pieces))
    };
    let address = served(Router::new().route("/", get(endless)), limits).await;
    let connection = connected(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    timeout(PATIENCE, gone.recv()).await.unwrap().unwrap();
    drop(connection);
}

/// Tells that it is dropped.
struct Told(mpsc::UnboundedSender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn who_is_one_too_many_is_told_to_come_back() {
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let address = served(app(), limits).await;
    let never = "GET /never HTTP/1.1\r\nHost: a\r\n\r\n";
    let silent = connected(address, "").await;
    let mut busy = vec![connected(address, never).await];
    // The silent one makes room.
    let mut next = connected(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(until(&mut next, "well").await.contains("200"));
    drop((silent, next));
    let refused = loop {
        let mut connection = connected(address, never).await;
        let mut first = [0];
        tokio::select! {
            read = connection.read(&mut first) => {
                assert_eq!(read.unwrap(), 1);
                break all(&mut connection).await;
            }
            () = sleep(Duration::from_millis(20)) => busy.push(connection),
        }
    };
    assert!(refused.starts_with("TTP/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after: 1"), "{refused}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused_in_the_form_of_what_is_asked() {
    let refuse = |head: &Parts, why: Unserved| {
        let kind = head.headers.get("content-type");
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let mut response = Response::new(Body::from(format!("{} {kind}", head.uri)));
        *response.status_mut() = why.status();
        response
    };
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::from(app()).refusing(refuse);
    tokio::spawn(serve(listener, app, pending()));
    let asked = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let large = format!(
        "POST /a2a HTTP/1.1\r\nContent-Type: application/json\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    for before in ["", asked] {
        let mut connection = connected(address, before).await;
        if !before.is_empty() {
            until(&mut connection, "well").await;
        }
        let (mut reading, mut writing) = connection.split();
        let mut answer = String::new();
        let both = async {
            tokio::join!(
                writing.write_all(large.as_bytes()),
                reading.read_to_string(&mut answer)
            )
        };
        let (_, read) = timeout(PATIENCE, both).await.unwrap();
        read.unwrap();
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
        assert!(answer.ends_with("/a2a application/json"), "{answer}");
    }
}

#[tokio::test]
async fn a_request_too_many_is_told_to_come_back() {
    let limits = Limits {
        requests: 1,
        ..Limits::default()
    };
    let (begun, app) = (Arc::new(Notify::new()), Router::new());
    let held = begun.clone();
    let never = move || {
        held.notify_one();
        pending::<()>()
    };
    let app = app
        .route("/never", get(never))
        .route("/", get(async || "well"));
    let address = served(app, limits).await;
    let never = connected(address, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    timeout(PATIENCE, begun.notified()).await.unwrap();
    let asked = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut connection = connected(address, asked).await;
    let answer = until(&mut connection, "at once").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.to_lowercase().contains("retry-after: 1"), "{answer}");
    drop(never);
    // The connection is as good as before.
    loop {
        connection.write_all(asked.as_bytes()).await.unwrap();
        let mut answer = [0; 512];
        let length = connection.read(&mut answer).await.unwrap();
        if answer[..length].starts_with(b"HTTP/1.1 200") {
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
    let asked = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut connection = connected(address, asked).await;
    let mut idle = connected(address, "").await;
    timeout(PATIENCE, wait.notified()).await.unwrap();
    stop.notify_one();
    // Nobody is let in from now on, and who asks nothing is gone.
    assert_eq!(all(&mut idle).await, "");
    assert!(!serving.is_finished());
    go.notify_one();
    assert!(all(&mut connection).await.ends_with("done"));
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

/// A connection on which a request is read when it is looked at again.
#[tokio::test]
async fn what_is_asked_at_the_last_moment_is_read() {
    let limits = Limits {
        idle: Duration::ZERO,
        ..Limits::default()
    };
    for (is_asked, expected) in [(true, Seen::Request), (false, Seen::Nothing)] {
        let activity = Activity::new();
        activity.asked();
        activity.answered();
        assert_eq!(activity.over(&limits).await, "nothing is asked");
        let reading = async {
            if is_asked {
                activity.asked();
            }
            pending::<()>().await;
        };
        assert_eq!(last_look(pin!(reading), &activity, &limits).await, expected);
        let gone = pin!(std::future::ready(()));
        assert_eq!(last_look(gone, &activity, &limits).await, Seen::End);
    }
}

/// The server finds in the same moment that a connection was idle for too long, and that a request has come. It looks at
/// either first, by chance.
#[tokio::test]
async fn a_request_and_the_end_of_the_idle_time_may_come_together() {
    let idle = Duration::from_millis(60);
    let limits = Limits {
        idle,
        ..Limits::default()
    };
    let address = served(app(), limits).await;
    let asked = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for _ in 0..20 {
        let began = Instant::now();
        let mut connection = connected(address, asked).await;
        until(&mut connection, "well").await;
        connection.try_write(asked.as_bytes()).unwrap();
        // On a busy machine the connection may have been closed before the request came.
        if began.elapsed() < idle {
            std::thread::sleep(idle);
            assert!(until(&mut connection, "well").await.contains("200"));
        }
    }
}

/// What a stream says next, if it says anything more.
type Says = mpsc::UnboundedSender<&'static str>;

/// An app with event streams that say what they are told to: how to tell each one that is asked for, in their order.
fn streaming() -> (Router, mpsc::UnboundedReceiver<Says>) {
    let (told, streams) = mpsc::unbounded_channel();
    let open = move |_: Bytes| {
        let (says, said) = mpsc::unbounded_channel::<&str>();
        told.send(says).unwrap();
        let said = stream::unfold(said, async |mut said| {
            let text = said.recv().await?;
            Some((Ok::<_, Infallible>(text), said))
        });
        let kind = [("content-type", "text/event-stream")];
        std::future::ready((kind, Body::from_stream(said)))
    };
    let router = app().route("/events", post(open));
    (router, streams)
}

#[tokio::test]
async fn a_quiet_stream_goes_on_and_the_next_request_is_answered() {
    let (app, mut streams) = streaming();
    let address = served(app, Limits::default()).await;
    let asked = "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let chunked = "POST /events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let mut connection = connected(address, asked).await;
    for next in [chunked, asked, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let says = timeout(PATIENCE, streams.recv()).await.unwrap().unwrap();
        let head = until(&mut connection, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        says.send("one").unwrap();
        assert_eq!(until(&mut connection, "one\r\n").await, "3\r\none\r\n");
        // The next request may begin before the stream has ended.
        let (begin, rest) = next.split_at(20);
        connection.write_all(begin.as_bytes()).await.unwrap();
        says.send("number two, longer").unwrap();
        let two = "12\r\nnumber two, longer\r\n";
        assert_eq!(until(&mut connection, two).await, two);
        drop(says);
        assert_eq!(until(&mut connection, "0\r\n\r\n").await, "0\r\n\r\n");
        connection.write_all(rest.as_bytes()).await.unwrap();
    }
    assert!(until(&mut connection, "well").await.contains("200"));
}

#[tokio::test]
async fn a_stream_ends_when_its_client_leaves() {
    let (app, mut streams) = streaming();
    let address = served(app, Limits::default()).await;
    let asked = "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let mut connection = connected(address, asked).await;
    until(&mut connection, "\r\n\r\n").await;
    let says = streams.recv().await.unwrap();
    drop(connection);
    timeout(PATIENCE, says.closed()).await.unwrap();
}

#[tokio::test]
async fn a_stream_after_which_nothing_is_wanted_closes_its_connection() {
    let (app, mut streams) = streaming();
    let address = served(app, Limits::default()).await;
    for (version, close) in [("1.1", "Connection: Close\r\n"), ("1.0", "")] {
        let asked = format!(
            "POST /events HTTP/{version}\r\nHost: a\r\n{close}Content-Length: 2\r\n\r\n{{}}"
        );
        let mut connection = connected(address, &asked).await;
        until(&mut connection, "\r\n\r\n").await;
        let says = streams.recv().await.unwrap();
        says.send("all").unwrap();
        drop(says);
        assert!(all(&mut connection).await.contains("all"), "{version}");
    }
}

#[tokio::test]
async fn a_stop_waits_for_streams_and_closes_their_connections() {
    let (app, mut streams) = streaming();
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let serving = tokio::spawn(serve(
        listener,
        app,
        async move { stopped.notified().await },
    ));
    let asked = "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let mut connection = connected(address, asked).await;
    until(&mut connection, "\r\n\r\n").await;
    let says = streams.recv().await.unwrap();
    stop.notify_one();
    says.send("the end").unwrap();
    assert!(
        until(&mut connection, "end\r\n")
            .await
            .ends_with("the end\r\n")
    );
    drop(says);
    assert_eq!(all(&mut connection).await, "0\r\n\r\n");
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn large_heads_have_so_much_together_and_small_ones_none_of_it() {
    let limits = Limits {
        bytes: 64 << 10,
        ..Limits::default()
    };
    let address = served(app(), limits).await;
    let half = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(20 << 10));
    // One address has half of all: the first one holds 24 KiB of 32, and is read on.
    let mut first = connected(address, &half).await;
    let mut refused = connected(address, &half).await;
    let answers = async {
        tokio::select! {
            one = all(&mut first) => (one, false),
            other = all(&mut refused) => (other, true),
        }
    };
    let (answer, is_other) = timeout(PATIENCE, answers).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    let mut small = connected(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(until(&mut small, "well").await.contains("200"));
    let held = if is_other { &mut first } else { &mut refused };
    held.write_all(b"\r\n\r\n").await.unwrap();
    assert!(until(held, "well").await.contains("200"));
    // What it held is there again.
    let whole = format!("{half}\r\n\r\n");
    let mut next = connected(address, &whole).await;
    assert!(until(&mut next, "well").await.contains("200"));
}
