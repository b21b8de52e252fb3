//! Tests of the client over streamable HTTP.

use std::{sync::atomic::Ordering, time::Duration};

use axum::{
    Json, Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse as _,
    routing::post,
};
use mcp_tools::{
    allow_list::AllowList,
    client::{CallError, ConnectError, Connection, Lifecycle, Options},
    connection::{ConnectionDetails, Transport},
    secret::Secret,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    arguments, impatient, open, said, short,
    troubled_http::{Refusal, TroubledHttp},
    works,
};

fn speaking(lifecycle: Lifecycle) -> Options {
    Options { lifecycle, ..short() }
}

#[tokio::test]
async fn both_eras_work() {
    let server = TroubledHttp::start();
    for (lifecycle, version) in [
        (Lifecycle::Initialize, "2025-11-25"),
        (Lifecycle::Discover, "2026-07-28"),
        (Lifecycle::Either, "2026-07-28"),
    ] {
        let connection = open(&server.details(), &speaking(lifecycle)).await;
        assert_eq!(connection.protocol_version(), version);
        works(&connection).await;
        connection.close().await;
        connection.close().await;
        let error = connection.call("echo", arguments([])).await.unwrap_err();
        assert!(matches!(error, CallError::Closed { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_unauthorized_however_the_server_says_so() {
    for refusal in [Refusal::Challenge, Refusal::BareStatus] {
        let server = TroubledHttp::with(refusal, |_| ());
        for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover, Lifecycle::Either] {
            let details = server.details_with("wrong-12345");
            let opened =
                Connection::open(&details, &AllowList::default(), &speaking(lifecycle)).await;
            let error = opened.unwrap_err();
            assert!(matches!(error, ConnectError::Unauthorized(_)), "{lifecycle:?}: {error}");
            assert!(error.to_string().contains("unauthorized"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_secret_that_a_server_repeats_is_masked() {
    let server = TroubledHttp::with(Refusal::RepeatsTheToken, |_| ());
    let details = server.details_with("wrong-12345");
    let error = said(Connection::open(&details, &AllowList::default(), &short()).await);
    assert!(error.contains("what is ***?"), "{error}");
    let connection = open(&server.details(), &short()).await;
    let token = arguments([("token", json!(super::troubled_http::TOKEN))]);
    let error = said(connection.call("no such tool", token).await);
    assert!(error.contains("no tool \"no such tool\"") && error.contains("***"), "{error}");
    assert!(!error.contains(super::troubled_http::TOKEN), "{error}");
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_started_again() {
    let server = TroubledHttp::start();
    let connection = open(&server.details(), &speaking(Lifecycle::Initialize)).await;
    works(&connection).await;
    server.sessions.sessions.write().await.clear();
    works(&connection).await;
}

#[tokio::test]
async fn a_tool_that_hangs_is_given_up_and_the_next_call_works() {
    let server = TroubledHttp::start();
    let connection = open(&server.details(), &impatient()).await;
    let error = connection.call("hang", arguments([])).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error}");
    let result = connection.call("echo", arguments([])).await;
    assert!(result.is_ok(), "{result:?}");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_gone() {
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let server = TroubledHttp::start();
        let connection = open(&server.details(), &speaking(lifecycle)).await;
        let error = connection.call("die", arguments([])).await.unwrap_err();
        assert!(matches!(error, CallError::Closed { .. }), "{lifecycle:?}: {error}");
        let error = connection.call("echo", arguments([])).await.unwrap_err();
        assert!(matches!(error, CallError::Closed { .. }), "{lifecycle:?}: {error}");
    }
}

#[tokio::test]
async fn too_much_is_not_taken() {
    let server = TroubledHttp::start();
    let connection = open(&server.details(), &short()).await;
    let bytes = |bytes| arguments([("bytes", json!(bytes))]);
    assert!(connection.call("flood", bytes(2000)).await.is_ok());
    let error = connection.call("flood", bytes(5000)).await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge { .. }), "{error}");
    assert!(connection.call("flood", bytes(20 << 20)).await.is_err());
    server.stranger.further.store(5, Ordering::Relaxed);
    let error = said(connection.tools().await);
    assert_eq!(error, "tools/list: the answer has 11 tools, more than the limit of 10");
}

#[tokio::test]
async fn a_list_without_an_end_is_given_up() {
    let server = TroubledHttp::with(Refusal::Challenge, |stranger| stranger.endless = true);
    let connection = open(&server.details(), &short()).await;
    let error = connection.tools().await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge { unit: "pages", .. }), "{error}");
}

#[tokio::test]
async fn a_page_that_names_its_own_cursor_is_the_last() {
    let server = TroubledHttp::with(Refusal::Challenge, |stranger| stranger.cursor_of_none = true);
    let connection = open(&server.details(), &short()).await;
    let tools = connection.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["echo", "hang", "die", "flood", "change", "wait_outside"]);
}

#[tokio::test]
async fn changed_tools_are_noticed() {
    let server = TroubledHttp::start();
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let connection = open(&server.details(), &speaking(lifecycle)).await;
        let before = connection.tools().await.unwrap().len();
        connection.call("change", arguments([])).await.unwrap();
        super::eventually("news of the tools", || connection.tool_changes() > 0).await;
        assert_eq!(connection.tools().await.unwrap().len(), before + 1);
    }
}

#[tokio::test]
async fn redirects_are_followed_within_their_origin_only() {
    let server = TroubledHttp::with(Refusal::Redirect, |_| ());
    let moved = server.moved();
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let connection = open(&moved, &speaking(lifecycle)).await;
        assert!(!connection.tools().await.unwrap().is_empty());
        connection.close().await;
    }
    let details = server.details_with("wrong-12345");
    let error = said(Connection::open(&details, &AllowList::default(), &short()).await);
    assert!(error.contains("307"), "{error}");
    assert!(error.contains("it redirects to http://127.0.0.1:9/elsewhere;"), "{error}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let details = ConnectionDetails::http("silent", url.parse().unwrap());
    let mut options = short();
    options.limits.connect = Duration::from_millis(300);
    let error = said(Connection::open(&details, &AllowList::default(), &options).await);
    assert_eq!(error, format!("silent ({url}): no answer within 300ms"));
}

/// Servers that were written by hand answer a method that they do not know in many ways.
#[tokio::test]
async fn a_server_that_fails_at_discovery_is_initialized() {
    let unknown = [
        (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        (StatusCode::OK, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#),
        (StatusCode::OK, r#"{"jsonrpc":"2.0","id":0,"error":"unknown method"}"#),
    ];
    for (status, body) in unknown {
        let answer = move |Json(message): Json<Value>| async move {
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2025-03-26", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"},
                }),
                Some("tools/list") => json!({"tools": []}),
                Some("notifications/initialized") => {
                    return StatusCode::ACCEPTED.into_response();
                }
                _ => return (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
            };
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            Json(answer).into_response()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
        let app = Router::new().route("/mcp", post(answer));
        let served = tokio::spawn(async move { axum::serve(listener, app).await });
        let connection = open(&ConnectionDetails::http("s", url), &short()).await;
        assert_eq!(connection.tools().await.unwrap(), [], "{body}");
        served.abort();
    }
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    for url in [url.clone(), url.replace("http:", "https:"), url.replace("127.0.0.1", "localhost")]
    {
        let details = ConnectionDetails::http("e", url.parse().unwrap());
        let error = Connection::open(&details, &AllowList::default(), &short()).await.unwrap_err();
        assert!(matches!(error, ConnectError::Failed { .. }), "{error}");
        assert!(error.to_string().contains("onnection refused"), "{error}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_never_contacted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let nothing = AllowList { loopback: false, ..AllowList::default() };
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost"] {
        let url = format!("http://{host}:{port}/mcp").parse().unwrap();
        let error = Connection::open(&ConnectionDetails::http("e", url), &nothing, &short()).await;
        let error = error.unwrap_err();
        assert!(matches!(error, ConnectError::NotAllowed(_)), "{host}: {error}");
    }
    let contacted = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
    assert!(contacted.is_err(), "somebody came");
}

#[tokio::test]
async fn headers_that_cannot_be_sent_are_named() {
    for (name, value) in [
        ("Host", "evil.example"),
        ("Mcp-Session-Id", "another's"),
        ("bad name", "value-1"),
        ("X-Key", "value\n1"),
    ] {
        let mut details = ConnectionDetails::http("e", "http://localhost:1/".parse().unwrap());
        let Transport::Http { headers, .. } = &mut details.transport else { unreachable!() };
        headers.insert(name.to_owned(), Secret::new(value));
        let error = said(Connection::open(&details, &AllowList::default(), &short()).await);
        assert!(error.contains(&format!("header {name:?}")), "{error}");
        assert!(!error.contains(value), "{error}");
    }
}
