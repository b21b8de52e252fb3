//! Tests streams of server-sent events.

use std::fmt::Write as _;

use axum::{body::Body as HttpBody, response::IntoResponse, routing::get};
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;

use super::*;

/// Serves an event stream in these chunks.
async fn upstream(pieces: Vec<Bytes>) -> String {
    let stream = move || {
        let pieces = pieces.clone();
        async move {
            let body =
                HttpBody::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, io::Error>)));
            ([("content-type", "text/event-stream")], body).into_response()
        }
    };
    serve(Router::new().route("/", get(stream))).await
}

#[tokio::test]
async fn events_pass_byte_for_byte_and_are_recorded_one_by_one() {
    let mut sent = String::from("\u{FEFF}: hello\r\n\r\n");
    for number in 0..200 {
        write!(
            sent,
            "id: {number}\r\ndata: {{\"n\":\r\ndata: {number}, \"s\": \"\u{1F980}\"}}\r\n\r\n"
        )
        .unwrap();
    }
    let pieces: Vec<Bytes> = sent.as_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
    let setup = Setup::new(&upstream(pieces).await, RecorderOptions::default()).await;

    let received = setup.client.get(setup.url("/")).send().await.unwrap().text().await.unwrap();

    assert!(received == sent, "not byte for byte");
    let contents = setup.contents();
    assert_eq!(kinds(&contents[..2]), ["request", "reply"]);
    assert_eq!(contents.len(), 203);
    assert_eq!(contents[202], Content::End);
    for (number, content) in contents[2..202].iter().enumerate() {
        let expected = Content::Event {
            id: Some(number.to_string()),
            event: None,
            body: Some(Body::Json(json!({"n": number, "s": "\u{1F980}"}))),
        };
        assert_eq!(*content, expected);
    }
}

#[tokio::test]
async fn an_event_is_recorded_before_it_is_passed_back() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    raw.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();
    assert_eq!(kinds(&setup.contents()), ["request", "reply"]);

    for number in 1..=3 {
        raw.send("event: tick\ndata: 1\n\n").await;
        let received = timeout(PATIENCE, reply.chunk()).await.unwrap().unwrap().unwrap();
        assert_eq!(received, "event: tick\ndata: 1\n\n");
        assert_eq!(setup.contents().len(), 2 + number);
    }
}

#[tokio::test]
async fn large_and_unfinished_events_pass_and_are_not_kept() {
    let sent = format!("data: {}\n\ndata: unfinished", "x".repeat(2000));
    let setup = Setup::new(&upstream(vec![Bytes::from(sent.clone())]).await, small()).await;
    let received = setup.client.get(setup.url("/")).send().await.unwrap().text().await.unwrap();
    assert_eq!(received, sent);
    let contents = setup.contents();
    assert_eq!(kinds(&contents), ["request", "reply", "event", "event", "end"]);
    assert_eq!((omitted(&contents[2]), omitted(&contents[3])), (2006, 16));
}

#[tokio::test]
async fn secrets_in_events_are_masked() {
    let sent =
        format!("id: {SECRET}\ndata: {{\"text\": \"{SECRET}\", \"apiKey\": \"unknown-1\"}}\n\n");
    let setup = Setup::new(&upstream(vec![Bytes::from(sent.clone())]).await, small()).await;
    let received = setup.client.get(setup.url("/")).send().await.unwrap().text().await.unwrap();
    assert_eq!(received, sent);
    let file = std::fs::read_to_string(setup.transcript.path()).unwrap();
    assert!(!file.contains(SECRET) && !file.contains("unknown-1"), "{file}");
}

#[tokio::test]
async fn a_stream_of_known_length_ends_too() {
    let stream = || async { ([("content-type", "text/event-stream")], "data: 1\n\n") };
    let setup = Setup::new(&serve(Router::new().route("/", get(stream))).await, small()).await;
    let reply = setup.client.get(setup.url("/")).send().await.unwrap();
    assert_eq!(reply.headers()["content-length"], "9");
    assert_eq!(reply.text().await.unwrap(), "data: 1\n\n");
    assert_eq!(kinds(&setup.contents()), ["request", "reply", "event", "end"]);
}

#[tokio::test]
async fn bytes_that_complete_no_event_are_a_sign_of_life() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    raw.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();
    for piece in [": still here\n", "data: {\"half"] {
        let mut activity = setup.transcript.activity();
        raw.send(piece).await;
        assert_eq!(reply.chunk().await.unwrap().unwrap(), piece);
        assert!(activity.has_changed().unwrap(), "{piece}");
        activity.mark_unchanged();
    }
    assert_eq!(kinds(&setup.contents()), ["request", "reply"]);
}

#[tokio::test]
async fn lines_of_json_are_events() {
    let raw = Raw::new().await;
    let setup = Setup::new(&raw.origin, RecorderOptions::default()).await;
    raw.send("HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n")
        .await;
    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();
    for number in 1..=2 {
        let line = format!("{{\"n\": {number}}}\n");
        raw.send(&line).await;
        assert_eq!(reply.chunk().await.unwrap().unwrap(), line);
        assert_eq!(setup.contents().len(), 2 + number);
    }
    raw.send("{\"n\": 3}").await;
    drop(raw);
    while reply.chunk().await.unwrap().is_some() {}
    let contents = setup.contents();
    assert_eq!(kinds(&contents), ["request", "reply", "event", "event", "event", "end"]);
    let last = contents[4].body().and_then(Body::json);
    assert_eq!(last, Some(&json!({"n": 3})));
}
