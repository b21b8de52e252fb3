//! Tests of errors: they name agent, operation and field, and come within the limits.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::Response,
};
use bridge_client::{Client, Limits, Options, Retries};
use bridge_protocol::a2a::{GetTaskRequest, StreamResponse};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::{net::TcpListener, time::timeout};
use url::Url;

use crate::server::{Answer, card_1_0, hello, reply, result, serve};

const CARD: &str = "/.well-known/agent-card.json";

fn limits() -> Options {
    Options {
        limits: Limits {
            reply: Duration::from_millis(300),
            idle: Duration::from_millis(300),
            body: 10_000,
            ..Limits::default()
        },
        ..Options::default()
    }
}

async fn client(answer: Answer) -> (Client, Url) {
    let (url, _) = serve(CARD, card_1_0(), answer).await;
    (Client::connect(&url, &limits()).await.unwrap(), url)
}

fn never() -> axum::http::Response<Body> {
    axum::http::Response::new(Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()))
}

#[tokio::test]
async fn every_bad_answer_has_its_own_error() {
    let cases: [(Answer, &str); 10] = [
        (
            || {
                reply(
                    200,
                    "application/json",
                    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no parts"}}"#,
                )
            },
            "the agent answered: no parts (-32602)",
        ),
        (
            || result(&json!({"task": {"id": "t"}})),
            "the answer is not valid: task.status: expected an object, found nothing",
        ),
        (
            || result(&json!({})),
            "the answer is not valid: expected one of task, message, found neither",
        ),
        (|| reply(500, "text/plain", "oops"), "HTTP status 500: oops"),
        (|| reply(200, "text/html", "<html>"), "HTTP status 200: not JSON: <html>"),
        (|| reply(204, "text/html", ""), "HTTP status 204: the answer is empty"),
        (
            || reply(200, "application/json", ""),
            "the answer is not valid: expected JSON, found nothing",
        ),
        (
            || reply(200, "application/json", "{"),
            "the answer is not valid: expected JSON, found a syntax error: EOF while parsing an object at line 1 column 1",
        ),
        (
            || result(&json!({"message": "x".repeat(20_000)})),
            "the answer is larger than 10000 bytes",
        ),
        (never, "no answer within 300ms"),
    ];
    for (answer, expected) in cases {
        let (client, url) = client(answer).await;
        let error = client.send_message(hello()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("SendMessage at {url}: {expected}"));
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let error = Client::connect(&url, &limits()).await.unwrap_err();
    let expected =
        format!("card at {url}.well-known/agent-card.json: cannot be reached: Connection refused");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn a_page_that_is_no_card_is_reported_with_the_field() {
    let (url, _) = serve(CARD, json!({"name": 7, "url": "URL"}), || result(&json!({}))).await;
    let error = Client::connect(&url, &limits()).await.unwrap_err();
    assert!(error.to_string().contains("name: expected a string"), "{error}");
}

fn event(item: &serde_json::Value) -> String {
    let envelope = json!({"jsonrpc": "2.0", "id": 1, "result": item});
    format!(": keep-alive\n\ndata: {envelope}\n\n")
}

fn working() -> String {
    let status = json!({"state": "TASK_STATE_WORKING"});
    event(&json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}))
}

#[tokio::test]
async fn events_come_until_the_stream_ends() {
    let answer = || reply(200, "text/event-stream", &(working() + &working()));
    let (client, _) = client(answer).await;
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.map(Result::unwrap).collect().await;
    assert!(matches!(
        events[..],
        [StreamResponse::StatusUpdate(_), StreamResponse::StatusUpdate(_)]
    ));
}

#[tokio::test]
async fn waits_may_have_no_limit() {
    let (url, _) = serve(CARD, card_1_0(), || reply(200, "text/event-stream", &working())).await;
    let (connect, card) = (Duration::MAX, Duration::MAX);
    let (reply, idle) = (Duration::MAX, Duration::MAX);
    let limits = Limits { connect, card, reply, idle, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let client = Client::connect(&url, &options).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    assert_eq!(events.collect::<Vec<_>>().await.len(), 1);
}

#[tokio::test]
async fn a_refused_stream_is_reported_before_any_event() {
    const REFUSAL: &str =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no streams"}}"#;
    let cases: [(Answer, &str); 4] = [
        (|| reply(200, "application/json", REFUSAL), "the agent answered: no streams (-32004)"),
        (
            || {
                let refusal = REFUSAL.replace("-32004", "-32001");
                reply(200, "text/event-stream", &format!("data: {refusal}\n\n"))
            },
            "the agent answered: no streams (-32001)",
        ),
        (|| reply(404, "text/plain", "nothing here"), "HTTP status 404: nothing here"),
        (|| result(&json!({})), "the stream broke: the answer is a single object, not a stream"),
    ];
    for (answer, expected) in cases {
        let (client, url) = client(answer).await;
        let error = client.send_streaming_message(hello()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("SendStreamingMessage at {url}: {expected}"));
    }
}

/// The official SDK for Python takes it, too. `resume.rs` has a task that is not over.
#[tokio::test]
async fn a_single_answer_is_a_stream_of_one_event() {
    let answer =
        || result(&json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}));
    let (client, _) = client(answer).await;
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.map(Result::unwrap).collect().await;
    assert!(matches!(&events[..], [StreamResponse::Task(task)] if task.id == "t"));
}

#[tokio::test]
async fn a_stream_that_goes_wrong_ends_with_its_error() {
    let cases: [(Answer, &str); 3] = [
        (
            || reply(200, "text/event-stream", &(working() + "data: {\"jsonrpc\":\"2.0\"}\n\n")),
            "the answer is not valid: expected a result or an error, found neither",
        ),
        (
            || reply(200, "text/event-stream", &(working() + &event(&json!({"tasks": {}})))),
            "the answer is not valid: expected exactly one of task, message, statusUpdate, \
             artifactUpdate, found none of them",
        ),
        (
            || {
                let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from(working()))]);
                let body = Body::from_stream(first.chain(stream::pending()));
                axum::http::Response::builder()
                    .header("content-type", "text/event-stream")
                    .body(body)
                    .unwrap()
            },
            "no answer within 300ms",
        ),
    ];
    for (answer, expected) in cases {
        let (client, url) = client(answer).await;
        let events = client.send_streaming_message(hello()).await.unwrap();
        let events: Vec<_> = events.collect().await;
        assert!(events[0].is_ok() && events.len() == 2);
        let error = events[1].as_ref().unwrap_err();
        assert_eq!(error.to_string(), format!("SendStreamingMessage at {url}: {expected}"));
    }
}

/// A few bytes of JSON can become many of memory.
#[tokio::test]
async fn an_answer_of_little_but_structure_is_refused() {
    fn message() -> serde_json::Value {
        let values = vec![json!({"a": 0}); 350_000];
        json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [], "metadata": {"x": values}})
    }
    let cases: [Answer; 2] = [
        || result(&json!({"message": message()})),
        || reply(200, "text/event-stream", &event(&json!({"message": message()}))),
    ];
    for answer in cases {
        let (url, _) = serve(CARD, card_1_0(), answer).await;
        let client = Client::connect(&url, &Options::default()).await.unwrap();
        let mut events = client.send_streaming_message(hello()).await;
        let error = match &mut events {
            Ok(events) => events.next().await.unwrap().unwrap_err(),
            Err(_) => events.unwrap_err(),
        };
        let expected = "expected values that take at most 256 MiB of memory, found more";
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

/// A server that announces no length ends a connection in the same way when it breaks.
#[tokio::test]
async fn a_stream_that_ends_within_an_event_is_broken() {
    let answer =
        || reply(200, "text/event-stream", &(working() + "data: {\"jsonrpc\":\"2.0\",\"id"));
    let (url, _) = serve(CARD, card_1_0(), answer).await;
    let options = Options { retries: Retries::NONE, ..limits() };
    let client = Client::connect(&url, &options).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.collect().await;
    assert!(events[0].is_ok() && events.len() == 2, "{events:?}");
    let error = events[1].as_ref().unwrap_err().to_string();
    assert!(error.ends_with("the stream broke: it ended within an event"), "{error}");
}

/// An agent that never ends an event, or sends nothing but comments, as fast as they are read.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_end_is_left_at_its_limits() {
    let cases: [(Answer, Duration, &str); 2] = [
        (|| endless(b"x"), Duration::from_secs(60), "1048576 bytes"),
        (|| endless(b":\n"), Duration::from_millis(300), "no answer within 300ms"),
    ];
    for (answer, idle, expected) in cases {
        let (url, _) = serve(CARD, card_1_0(), answer).await;
        let mut options = limits();
        (options.limits.body, options.limits.idle) = (1 << 20, idle);
        let client = Client::connect(&url, &options).await.unwrap();
        let mut events = client.send_streaming_message(hello()).await.unwrap();
        let first = timeout(Duration::from_secs(60), events.next()).await.unwrap();
        let error = first.unwrap().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn endless(piece: &'static [u8]) -> axum::http::Response<Body> {
    let begin = stream::iter([Bytes::from("data: ")]);
    let pieces = begin.chain(stream::repeat(Bytes::from(piece.repeat(1 << 14))));
    let body = Body::from_stream(pieces.map(Ok::<_, std::io::Error>));
    axum::http::Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

/// A server that mixes up the answers of its callers must be detected.
#[tokio::test]
async fn the_answer_to_another_request_is_refused() {
    let cases: [(Answer, Option<&str>); 5] = [
        (|| said(&json!(7)), Some("7")),
        (|| said(&json!("m-1")), Some("\"m-1\"")),
        (|| said(&json!(null)), Some("null")),
        // Some servers write the number in this form.
        (|| said(&json!("1")), None),
        (|| said(&json!(1)), None),
    ];
    for (answer, found) in cases {
        let (url, _) = serve(CARD, card_1_0(), answer).await;
        let client = Client::connect(&url, &limits()).await.unwrap();
        let task = client.get_task(GetTaskRequest::new("t")).await;
        let expected = found.map(|found| {
            format!("GetTask at {url}: the answer is not valid: id: expected 1, the id of the request, found {found}")
        });
        assert_eq!(task.err().map(|error| error.to_string()), expected);
    }
    let (client, url) = client(|| {
        let item = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
        let envelope = json!({"jsonrpc": "2.0", "id": 7, "result": item});
        reply(200, "text/event-stream", &format!("data: {envelope}\n\n"))
    })
    .await;
    let events = client.send_streaming_message(hello()).await;
    let error = match events {
        Ok(mut events) => events.next().await.unwrap().unwrap_err(),
        Err(error) => error,
    };
    let expected = format!("SendStreamingMessage at {url}: the answer is not valid: id: expected ");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

fn said(id: &serde_json::Value) -> Response<Body> {
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}});
    let body = json!({"jsonrpc": "2.0", "result": task, "id": id});
    reply(200, "application/json", &body.to_string())
}
