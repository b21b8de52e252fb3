//! Tests small requests that would need much memory: each binding and version refuses them in its own form.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use bridge::{host::Host, store::MemoryStore};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::app::{agent, app, text};

/// Objects of one member: a hundred times as much in memory as in the body.
fn structure() -> String {
    format!("[{}]", vec!["{\"\":0}"; 100_000].join(","))
}

/// Posts a body and returns the status and the body of the answer.
async fn asked(app: &Router, path: &str, version: &str, body: String) -> (u16, Value) {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("a2a-version", version)
        .body(Body::from(body));
    let response = app.clone().oneshot(request.unwrap()).await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&text(response).await).unwrap())
}

fn rpc(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}")
}

#[tokio::test]
async fn structure_is_refused_over_json_rpc_in_every_version() {
    let (app, structure) = (app().await, structure());
    let message = "\"messageId\":\"m\",\"role\":";
    for (version, method, params) in [
        (
            "1.0",
            "SendMessage",
            format!(
                "{{\"message\":{{{message}\"ROLE_USER\",\"parts\":[{{\"data\":{structure}}}]}}}}"
            ),
        ),
        ("1.0", "GetTask", format!("{{\"id\":\"t\",\"junk\":{structure}}}")),
        (
            "0.3",
            "message/send",
            format!(
                "{{\"message\":{{{message}\"user\",\"parts\":[{{\"kind\":\"data\",\"data\":{{\"a\":{structure}}}}}]}}}}"
            ),
        ),
        ("0.3", "tasks/get", format!("{{\"id\":\"t\",\"metadata\":{{\"a\":{structure}}}}}")),
    ] {
        let (status, answer) = asked(&app, "/a2a", version, rpc(method, &params)).await;
        let error = &answer["error"];
        assert_eq!((status, error["code"].as_i64()), (200, Some(-32600)), "{answer}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains("take at most 4 MiB"), "{said}");
    }
    let bare = format!("{{\"id\":\"t\",\"message\":{structure}}}");
    let (_, answer) = asked(&app, "/a2a/tasks/send", "0.1", bare).await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
}

#[tokio::test]
async fn structure_is_refused_over_http_json() {
    let (app, structure) = (app().await, structure());
    let message = format!(
        "{{\"message\":{{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[{{\"data\":{structure}}}]}}}}"
    );
    let (status, answer) = asked(&app, "/a2a/echo/message:send", "1.0", message).await;
    assert_eq!(status, 400, "{answer}");
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("take at most 4 MiB"), "{said}");
}

#[tokio::test]
async fn a_body_has_the_limit_that_was_set() {
    let host = Host::new(Arc::new(MemoryStore::new()), [agent("echo")]);
    let host = host.body_limit(1_000);
    let app = host.router("http://localhost:3978").await.unwrap();
    let params = json!({"message": {"messageId": "m", "role": "ROLE_USER",
        "parts": [{"text": "x".repeat(1_000)}]}});
    let message = params.to_string();
    for (path, body) in
        [("/a2a/echo/message:send", message.clone()), ("/a2a", rpc("SendMessage", &message))]
    {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.header("a2a-version", "1.0").body(Body::from(body));
        let response = app.clone().oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), 413, "{path}");
        let said = text(response).await;
        assert!(!said.contains("16 MiB"), "{path}: {said}");
    }
}

#[tokio::test]
async fn a_large_text_is_no_structure() {
    let app = app().await;
    let params = json!({"message": {"messageId": "m", "role": "ROLE_USER",
        "parts": [{"text": "[{,".repeat(1 << 20)}]}});
    let (_, answer) = asked(&app, "/a2a", "1.0", rpc("SendMessage", &params.to_string())).await;
    let state = &answer["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED");
}

#[cfg(feature = "grpc")]
#[tokio::test]
async fn structure_is_refused_over_grpc() {
    use bridge_protocol::{
        a2a::{Message, Part, Role, SendMessageRequest},
        dialect::Call,
    };
    let data = Value::from(vec![json!({"": 0}); 100_000]);
    let message = Message::new("m", Role::User, vec![Part::data(data)]);
    let call = Call::SendMessage(SendMessageRequest::new(message));
    let answered = crate::grpc::call(&app().await, &[], &call).await;
    assert_eq!(answered.code, 3, "{}", answered.error);
    assert!(answered.error.message.contains("too%20large"), "{}", answered.error);
}

/// A message whose end does not come is reported in gRPC's form.
#[cfg(feature = "grpc")]
#[tokio::test]
async fn a_message_that_does_not_come_on_has_a_status_of_grpc() {
    use std::{convert::Infallible, future::pending, time::Duration};

    use bridge_program::{Limits, PlainTcp, listen, serve_within};
    use futures_util::{StreamExt as _, stream};

    let limits = Limits { body: Duration::from_millis(50), ..Limits::default() };
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_within(limits, listener, PlainTcp, app().await, pending()));
    let begin = stream::iter([Ok::<_, Infallible>(vec![0, 0, 0, 1, 0])]);
    let body = reqwest::Body::wrap_stream(begin.chain(stream::pending()));
    let client = reqwest::Client::builder().http2_prior_knowledge().no_proxy();
    let request =
        client.build().unwrap().post(format!("http://{address}/lf.a2a.v1.A2AService/SendMessage"));
    let request = request.header("content-type", "application/grpc");
    let request = request.header("a2a-version", "1.0").body(body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["grpc-status"], "4");
}
