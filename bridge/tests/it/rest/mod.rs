//! HTTP+JSON as clients see it, without a socket; `interop` has the foreign clients over real ones.

mod errors;
mod extensions;
mod life;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
};
use bridge::{agent::Agent, host::Host, store::MemoryStore};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::app::{agent, app, named, say, text};

/// Returns a message as 0.3 has it in ProtoJSON.
fn say_v0_3(id: &str, words: &str) -> Value {
    json!({
        "message": {"messageId": id, "role": "ROLE_USER", "content": [{"text": words}]},
        "configuration": {"blocking": true},
    })
}

/// Asks `METHOD PATH` with these headers, `NAME: VALUE` each.
async fn ask(app: &Router, what: &str, headers: &[&str], body: Option<&Value>) -> Response<Body> {
    let (method, path) = what.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for header in headers {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    if body.is_some() {
        request = request.header("content-type", "application/a2a+json");
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let request = named(request).body(body).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

async fn json_of(response: Response<Body>) -> Value {
    let text = text(response).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Sends a valid request and returns its answer.
async fn ok(app: &Router, what: &str, body: Option<&Value>) -> Value {
    let response = ask(app, what, &[], body).await;
    let status = response.status();
    let answer = json_of(response).await;
    assert_eq!(status, StatusCode::OK, "{what}: {answer}");
    answer
}

#[tokio::test]
async fn json_rpc_is_at_v1_too() {
    let app = app().await;
    let body =
        json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": say("m", "hi")});
    for path in ["/v1", "/a2a/v1", "/a2a/echo/v1"] {
        let answer = ok(&app, &format!("POST {path}"), Some(&body)).await;
        assert_eq!(answer["id"], 7, "{path}: {answer}");
        assert!(answer["result"]["task"].is_object());
    }
}

#[tokio::test]
async fn cards_list_every_way() {
    let app = app().await;
    let card = ok(&app, "GET /.well-known/agent-card.json?A2A-Version=1.0", None).await;
    let shown: Vec<String> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {} {}", one["url"], one["protocolBinding"], one["protocolVersion"]))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn an_agent_is_not_called_like_an_operation() {
    for name in ["v1", "tasks", "extendedAgentCard", "catalog"] {
        let other = Agent { name: name.into(), ..agent("echo") };
        let host = Host::new(Arc::new(MemoryStore::new()), [agent("echo"), other]);
        let refused = host.router("http://localhost:3978").await.unwrap_err();
        let expected =
            format!("{name:?} is no name for an agent: something else is at /a2a/{name}");
        assert_eq!(refused.to_string(), expected);
    }
}
