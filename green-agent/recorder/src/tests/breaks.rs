//! Tests exchanges that fail.

use serde_json::Value;

use super::*;

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn nobody_listens() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let setup = Setup::new(&origin, RecorderOptions::default()).await;

    let reply = setup.client.post(setup.url("/")).body("{}").send().await.unwrap();

    assert_eq!(reply.status(), 502);
    let told: Value = reply.json().await.unwrap();
    let (direction, error) = setup.failure().await;
    assert_eq!(direction, Direction::Back);
    assert_eq!(told["error"], error.as_str());
    assert!(error.starts_with(crate::NOT_REACHED) && error.contains("refused"), "{error}");
    assert_eq!(kinds(&setup.contents()), ["request", "failure"]);
}

#[tokio::test]
async fn the_upstream_dies_in_a_stream() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    raw.send(STREAM).await;
    raw.send("9\r\ndata: 1\n\n\r\n").await;
    drop(raw.send);

    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();

    assert_eq!(reply.chunk().await.unwrap().unwrap(), "data: 1\n\n");
    assert!(
        timeout(PATIENCE, reply.chunk()).await.unwrap().is_err(),
        "the caller sees the break too"
    );
    let (direction, error) = setup.failure().await;
    assert_eq!(direction, Direction::Back);
    assert!(error.starts_with("the upstream broke off: "), "{error}");
    assert_eq!(kinds(&setup.contents()), ["request", "reply", "event", "failure"]);
}

#[tokio::test]
async fn the_upstream_dies_in_a_body() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    raw.send("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
    drop(raw.send);

    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();

    assert_eq!(reply.chunk().await.unwrap().unwrap(), "half");
    assert!(reply.chunk().await.is_err(), "the caller sees the break too");
    let contents = setup.contents();
    assert_eq!(kinds(&contents), ["request", "reply", "failure"]);
    assert_eq!(omitted(&contents[1]), 4);
}

#[tokio::test]
async fn the_caller_leaves_in_a_stream() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    raw.send(STREAM).await;
    let reply = setup.client.get(setup.url("/")).send().await.unwrap();

    drop(reply);

    let (direction, error) = setup.failure().await;
    assert_eq!(direction, Direction::Forward);
    assert_eq!(error, "the caller closed the connection before the exchange ended");
    timeout(PATIENCE, raw.left).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_caller_leaves_before_the_reply() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    let waiting = tokio::spawn(setup.client.get(setup.url("/")).send());
    setup.entry(|entry| kind(&entry.content) == "request").await;

    waiting.abort();

    assert_eq!(setup.failure().await.0, Direction::Forward);
    timeout(PATIENCE, raw.left).await.unwrap().unwrap();
    assert_eq!(kinds(&setup.contents()), ["request", "failure"]);
}

#[tokio::test]
async fn the_caller_leaves_in_a_request() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    let url = setup.url("/");
    let mut caller =
        TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).await.unwrap();
    caller
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf")
        .await
        .unwrap();
    drop(caller);

    assert_eq!(setup.failure().await.0, Direction::Forward);
}

#[tokio::test]
async fn too_many_exchanges_are_refused() {
    let raw = Raw::new().await;
    let options = RecorderOptions { exchanges: 1, ..small() };
    let setup = Setup::new(&raw.origin, options).await;
    raw.send(STREAM).await;
    let open = setup.client.get(setup.url("/")).send().await.unwrap();

    let refused = setup.client.get(setup.url("/")).send().await.unwrap();

    assert_eq!(refused.status(), 503);
    assert_eq!(kinds(&setup.contents()), ["request", "reply", "request", "failure"]);
    drop(open);
}

#[tokio::test]
async fn stopping_breaks_off_what_is_open() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, small()).await;
    raw.send(STREAM).await;
    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();

    timeout(PATIENCE, setup.recorder.stop()).await.expect("stopping has a limit");

    assert!(reply.chunk().await.is_err());
    let entries = setup.transcript.entries().unwrap();
    let error = "the recorder was stopped before the exchange ended".to_owned();
    assert_eq!(entries.last().unwrap().content, Content::Failure { error });
}

#[tokio::test]
async fn stopping_waits_for_what_can_end() {
    let raw = Raw::new().await;
    let options = RecorderOptions { drain: PATIENCE, ..small() };
    let setup = Setup::new(&raw.origin, options).await;
    raw.send(STREAM).await;
    let reply = setup.client.get(setup.url("/")).send().await.unwrap();

    let stopping = tokio::spawn(setup.recorder.stop());
    raw.send("0\r\n\r\n").await;

    assert_eq!(reply.text().await.unwrap(), "");
    timeout(PATIENCE, stopping).await.unwrap().unwrap();
    assert_eq!(setup.transcript.entries().unwrap().last().unwrap().content, Content::End);
}
