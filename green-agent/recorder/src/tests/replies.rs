//! Tests complete requests and replies.

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect},
    routing::{any, get, post},
};
use serde_json::{Value, json};

use super::*;

/// Replies with a description of the request.
async fn mirror(request: Request) -> impl IntoResponse {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let names: Vec<&str> = parts.headers.keys().map(header::HeaderName::as_str).collect();
    let seen = json!({
        "method": parts.method.as_str(),
        "uri": parts.uri.to_string(),
        "host": parts.headers["host"].to_str().unwrap(),
        "names": names,
        "authorization": parts.headers.get("authorization").map(|value| value.to_str().unwrap()),
        "body": String::from_utf8(body.to_vec()).unwrap(),
    });
    (StatusCode::ACCEPTED, [("x-own", "1"), ("retry-after", "7")], Json(seen))
}

#[tokio::test]
async fn the_id_of_a_session_is_masked_wherever_the_server_repeats_it() {
    const ID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
    let tool = || async {
        let content = json!([{"type": "text", "text": format!("You are in session {ID}.")}]);
        ([("mcp-session-id", ID)], Json(json!({"result": {"content": content}})))
    };
    let origin = serve(Router::new().route("/mcp", post(tool))).await;
    let setup = Setup::new(&origin, RecorderOptions::default()).await;
    let call = || setup.client.post(setup.url("/mcp")).header("mcp-session-id", ID);
    let passed = call().send().await.unwrap().text().await.unwrap();
    assert!(passed.contains(ID), "{passed}");
    call().body(format!("\"{ID}\"")).send().await.unwrap();
    let recorded = format!("{:?}", setup.contents());
    assert!(!recorded.contains(ID) && recorded.contains("session [masked]."), "{recorded}");
}

#[tokio::test]
async fn a_request_and_its_reply_pass_and_are_recorded() {
    let origin = serve(Router::new().fallback(mirror)).await;
    let setup = Setup::new(&format!("{origin}/a2a/x"), RecorderOptions::default()).await;
    assert_eq!(setup.recorder.url(&hop()).unwrap().path(), "/a2a/x");

    let reply = setup
        .client
        .post(setup.url("/a2a/x?n=1"))
        .header("a2a-version", "1.0")
        .header("accept-encoding", "gzip")
        .body("{\"a\":  1}")
        .send()
        .await
        .unwrap();
    // The reply is in the transcript before the caller has it, so no waiting is needed.
    let contents = setup.contents();

    assert_eq!(reply.status(), 202);
    assert_eq!(reply.headers()["x-own"], "1");
    let seen: Value = reply.json().await.unwrap();
    assert_eq!(seen["uri"], "/a2a/x?n=1");
    assert_eq!(seen["host"], origin.strip_prefix("http://").unwrap());
    assert_eq!(seen["body"], "{\"a\":  1}");
    assert!(!seen["names"].as_array().unwrap().contains(&json!("accept-encoding")));
    let [
        Content::Request { method, path, headers, body },
        Content::Reply { status, headers: back, body: answer },
    ] = &contents[..]
    else {
        panic!("{contents:?}");
    };
    assert_eq!((method.as_str(), path.as_str(), *status), ("POST", "/a2a/x?n=1", 202));
    assert_eq!(headers["a2a-version"], "1.0");
    assert_eq!(back.keys().collect::<Vec<_>>(), ["content-type", "retry-after"]);
    assert_eq!(body.as_ref().unwrap().json(), Some(&json!({"a": 1})));
    assert_eq!(answer.as_ref().unwrap().json(), Some(&seen));
}

#[tokio::test]
async fn replies_without_a_body_pass() {
    let app = Router::new()
        .route("/empty", any(|| async { StatusCode::NO_CONTENT }))
        .route("/whole", get(|| async { "ten  bytes" }))
        .route(
            "/stream",
            any(|| async { ([("content-type", "text/event-stream")], "data: 1\n\n") }),
        )
        .route("/away", get(|| async { Redirect::temporary("/whole") }));
    let setup = Setup::new(&serve(app).await, RecorderOptions::default()).await;

    let empty = setup.client.delete(setup.url("/empty")).send().await.unwrap();
    assert_eq!(empty.status(), 204);
    let head = setup.client.head(setup.url("/whole")).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], "10");
    let stream = setup.client.head(setup.url("/stream")).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let away = setup.client.get(setup.url("/away")).send().await.unwrap();
    assert_eq!(
        (away.status().as_u16(), away.headers()["location"].to_str().unwrap()),
        (307, "/whole")
    );
    assert_eq!(kinds(&setup.contents()), ["request", "reply"].repeat(4));
    assert!(setup.contents().iter().all(|content| content.body().is_none()));
}

#[tokio::test]
async fn large_bodies_pass_and_are_not_kept() {
    let app = Router::new().route("/", post(|body: axum::body::Bytes| async { body }));
    let setup = Setup::new(&serve(app).await, small()).await;
    let large = "0123456789abcdef".repeat(64 * 1024);

    let reply = setup.client.post(setup.url("/")).body(large.clone()).send().await.unwrap();

    assert!(reply.text().await.unwrap() == large);
    let contents = setup.contents();
    assert_eq!(kinds(&contents), ["request", "reply"]);
    assert_eq!(contents.iter().map(omitted).collect::<Vec<_>>(), [1024 * 1024; 2]);
}

#[tokio::test]
async fn encoded_bodies_pass_and_are_not_kept() {
    let encoded = || async { ([("content-encoding", "gzip")], vec![0x1F_u8, 0x8B, 0, 1]) };
    let setup = Setup::new(&serve(Router::new().route("/", get(encoded))).await, small()).await;
    let reply = setup.client.get(setup.url("/")).send().await.unwrap();
    assert_eq!(reply.headers()["content-encoding"], "gzip");
    assert_eq!(reply.bytes().await.unwrap(), &[0x1F, 0x8B, 0, 1][..]);
    assert_eq!(omitted(&setup.contents()[1]), 4);
}

#[tokio::test]
async fn cards_keep_callers_on_the_recorder() {
    let card = |headers: HeaderMap| async move {
        Json(json!({"name": "x", "url": format!("http://{}/", headers["host"].to_str().unwrap())}))
    };
    let extended = |headers: HeaderMap, Json(request): Json<Value>| async move {
        let url = format!("http://{}/rpc", headers["host"].to_str().unwrap());
        Json(
            json!({"id": request["id"], "result": {"supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC"}]}}),
        )
    };
    let app =
        Router::new().route("/.well-known/agent-card.json", get(card)).route("/", post(extended));
    let origin = serve(app).await;
    let setup = Setup::new(&origin, RecorderOptions::default()).await;

    let path = "/.well-known/agent-card.json";
    let card: Value = setup.client.get(setup.url(path)).send().await.unwrap().json().await.unwrap();
    assert_eq!(card["url"], setup.url("/").as_str());
    let request = json!({"id": 1, "method": "GetExtendedAgentCard"});
    let reply = setup.client.post(setup.url("/")).json(&request).send().await.unwrap();
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["result"]["supportedInterfaces"][0]["url"], setup.url("/rpc").as_str());

    let contents = setup.contents();
    let sent = contents[1].body().and_then(Body::json).unwrap();
    assert_eq!(
        sent["url"],
        format!("{origin}/"),
        "the transcript has the card as the agent sent it"
    );
}

#[tokio::test]
async fn secrets_reach_the_upstream_and_not_the_file() {
    let setup =
        Setup::new(&serve(Router::new().fallback(mirror)).await, RecorderOptions::default()).await;
    let uri = format!("/hook/{SECRET}?api_key=unknown-1&q={SECRET}");
    let body = json!({"text": format!("say {SECRET}"), "token": "unknown-2"}).to_string();
    let request = setup.client.post(setup.url(&uri)).bearer_auth("unknown-3").body(body.clone());

    let seen: Value = request.send().await.unwrap().json().await.unwrap();

    assert_eq!(seen["uri"], uri);
    assert_eq!(seen["authorization"], "Bearer unknown-3");
    assert_eq!(seen["body"], body);
    let file = std::fs::read_to_string(setup.transcript.path()).unwrap();
    for secret in [SECRET, "unknown-1", "unknown-2", "unknown-3"] {
        assert!(!file.contains(secret), "{secret} in {file}");
    }
    assert!(file.contains("Bearer [masked]"));
}

#[tokio::test]
async fn upgrades_are_refused() {
    let setup =
        Setup::new(&serve(Router::new().fallback(mirror)).await, RecorderOptions::default()).await;
    for (protocol, expected) in [("websocket", 501), ("h2c", 202)] {
        let request = setup.client.get(setup.url("/")).header("connection", "upgrade");
        let reply = request.header("upgrade", protocol).send().await.unwrap();
        assert_eq!(reply.status(), expected, "{protocol}");
    }
    assert_eq!(kinds(&setup.contents()), ["request", "failure", "request", "reply"]);
}

#[tokio::test]
async fn a_recorder_needs_http_and_one_upstream_a_hop() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(&folder.path().join("t.jsonl"), Instant::now()).unwrap();
    let spec = |upstream: &str| HopSpec {
        hop: hop(),
        upstream: upstream.parse().unwrap(),
        written_port: None,
    };
    let twice = vec![spec("http://127.0.0.1:1"), spec("http://127.0.0.1:2")];
    for (hops, expected) in [
        (twice, "cannot record green -> purple twice: give each participant a role of its own"),
        (
            vec![spec("grpc://127.0.0.1:1")],
            "cannot record green -> purple: expected an http or https URL of an agent, found grpc://127.0.0.1:1",
        ),
    ] {
        let started = Recorder::start(hops, transcript.clone(), Masker::default(), small()).await;
        assert_eq!(started.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn a_reply_that_comes_slowly_is_passed_on_as_it_comes_and_recorded_before_its_end() {
    let raw = Raw::new().await;
    let options = RecorderOptions { hold: Duration::ZERO, ..RecorderOptions::default() };
    let setup = Setup::new(&raw.origin, options).await;
    raw.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n")
        .await;
    let reply = timeout(PATIENCE, setup.client.get(setup.url("/")).send()).await;
    let mut reply = reply.expect("the head is held back").unwrap();
    assert_eq!(kinds(&setup.contents()), ["request"]);
    for piece in ["{\"a\"", ": 12}\n"] {
        let activity = setup.transcript.activity();
        raw.send(piece).await;
        let passed = timeout(PATIENCE, reply.chunk()).await;
        assert_eq!(passed.expect("held back").unwrap().unwrap(), piece);
        assert!(activity.has_changed().unwrap());
    }
    let contents = setup.contents();
    assert_eq!(kinds(&contents), ["request", "reply"]);
    assert_eq!(contents[1].body().and_then(Body::json), Some(&json!({"a": 12})));
}

#[tokio::test]
async fn a_slow_reply_that_breaks_off_is_recorded_as_far_as_it_came() {
    let raw = Raw::new().await;
    let options = RecorderOptions { hold: Duration::ZERO, ..RecorderOptions::default() };
    let setup = Setup::new(&raw.origin, options).await;
    raw.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n").await;
    let mut reply = setup.client.get(setup.url("/")).send().await.unwrap();
    raw.send("1234").await;
    assert_eq!(reply.chunk().await.unwrap().unwrap(), "1234");
    drop(raw);
    while matches!(reply.chunk().await, Ok(Some(_))) {}
    let contents = setup.contents();
    assert_eq!(kinds(&contents), ["request", "reply", "failure"]);
    assert_eq!(omitted(&contents[1]), 4);
}

#[tokio::test]
async fn original_texts_are_judged_and_written_texts_are_masked() {
    let answer = json!({"parts": [{"text": SECRET}], "token": "t-1", "n": 1});
    let said = answer.clone();
    let app = Router::new().fallback(move || async { Json(said) });
    let setup = Setup::new(&serve(app).await, RecorderOptions::default()).await;
    setup.client.get(setup.url("/")).send().await.unwrap();

    let entries = setup.transcript.said().unwrap();
    assert_eq!(entries[1].content.body().and_then(Body::json), Some(&answer));
    let masked = json!({"parts": [{"text": "[masked]"}], "token": "[masked]", "n": 1});
    let contents = setup.contents();
    assert_eq!(contents[1].body().and_then(Body::json), Some(&masked));
}
