//! Tests what the server refuses in every binding and version.

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
};
use bridge::host::HttpGuard;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::app::{app, app_with_card, get, named, post, rpc, text};

fn said(fields: &Value) -> Value {
    let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let fields = fields.as_object().unwrap().clone();
    message.as_object_mut().unwrap().extend(fields);
    json!({ "message": message })
}

async fn json(response: Response<Body>) -> Value {
    serde_json::from_str(&text(response).await).unwrap()
}

#[tokio::test]
async fn an_empty_string_names_nothing() {
    let app = app().await;
    let mut contexts = Vec::new();
    for number in 0..2 {
        let unset = |id: &str| {
            said(&json!({"messageId": format!("{id}-{number}"), "contextId": "", "taskId": ""}))
        };
        let answer = rpc(&app, Some("1.0"), "SendMessage", unset("rpc")).await;
        contexts.push(answer["result"]["task"]["contextId"].clone());
        let answer = post(&app, "/message:send", &[], &unset("rest")).await;
        contexts.push(json(answer).await["task"]["contextId"].clone());
        let old = json!({"message": {"kind": "message", "messageId": format!("old-{number}"),
            "contextId": "", "taskId": "", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}});
        let answer = rpc(&app, None, "message/send", old).await;
        contexts.push(answer["result"]["contextId"].clone());
    }
    let mut known: Vec<&str> = contexts.iter().map(|id| id.as_str().unwrap()).collect();
    assert!(known.iter().all(|id| !id.is_empty()), "{known:?}");
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), contexts.len(), "tasks of one context: {contexts:?}");
    let listed =
        rpc(&app, Some("1.0"), "ListTasks", json!({"contextId": "", "pageToken": ""})).await;
    assert_eq!(listed["result"]["totalSize"], 6, "{listed}");
}

#[tokio::test]
async fn every_version_requires_the_required_fields() {
    let app = app().await;
    for (version, method, params, expected) in [
        (Some("1.0"), "GetTask", json!({"id": ""}), "id: expected an id"),
        (Some("1.0"), "CancelTask", json!({"id": ""}), "id: expected an id"),
        (None, "tasks/get", json!({"id": ""}), "id: expected an id"),
        (
            Some("1.0"),
            "ListTaskPushNotificationConfigs",
            json!({"taskId": ""}),
            "taskId: expected an id",
        ),
        (
            Some("1.0"),
            "SendMessage",
            said(&json!({"role": "ROLE_UNSPECIFIED"})),
            "message.role: expected ROLE_USER or ROLE_AGENT",
        ),
        (
            None,
            "message/send",
            json!({"message": {"messageId": "m", "role": "user", "parts": [{"kind": "hologram", "w": 1}]}}),
            "message.parts[0].kind: expected text, file or data, found \"hologram\"",
        ),
        (
            None,
            "tasks/send",
            json!({"id": "t", "message": {"role": "user", "parts": [{"type": "hologram", "w": 1}]}}),
            "message.parts[0].type: expected text, file or data, found \"hologram\"",
        ),
    ] {
        let answer = rpc(&app, version, method, params).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(expected), "{method}: {message}");
    }
    let listed = rpc(&app, Some("1.0"), "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["totalSize"], 0, "what was refused began a task");
}

#[cfg(feature = "grpc")]
#[tokio::test]
async fn grpc_asks_for_the_same() {
    use bridge_protocol::{
        a2a::{GetTaskRequest, Operation},
        dialect::{Call, Version},
    };
    let app = app().await;
    let sent = |role: &str| {
        let params = said(&json!({"role": role}));
        Version::V1_0.params_to_v1(Operation::SendMessage, params, "").unwrap()
    };
    // Values that the proto does not know are unspecified there.
    for role in ["ROLE_UNSPECIFIED", "ROLE_9"] {
        let answered = crate::grpc::call(&app, &[], &sent(role)).await;
        assert_eq!(answered.code, 3, "{}", answered.error);
        assert_eq!(answered.error.fields(), ["message.role"]);
    }
    let answered = crate::grpc::call(&app, &[], &Call::GetTask(GetTaskRequest::new(""))).await;
    assert_eq!((answered.code, answered.error.fields()), (3, vec!["id"]));
}

/// Posts a message as a web page could, without asking first.
async fn page(app: &Router, path: &str, headers: &[(&str, &str)], body: &Value) -> Response<Body> {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = named(request).body(Body::from(body.to_string()));
    app.clone().oneshot(request.unwrap()).await.unwrap()
}

#[tokio::test]
async fn no_web_page_is_taken_for_a_client() {
    let app = app().await;
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": said(&json!({}))});
    let bare =
        json!({"id": "t", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}});
    for types in [
        &[("content-type", "text/plain")][..],
        &[("content-type", "application/x-www-form-urlencoded")],
        &[("content-type", "multipart/form-data; boundary=x")],
        &[("origin", "https://evil.example")],
    ] {
        let refused = json(page(&app, "/", types, &call).await).await;
        assert_eq!(refused["error"]["code"], -32005, "{types:?}: {refused}");
        assert_eq!(refused["id"], 1);
        let refused = page(&app, "/message:send", types, &said(&json!({}))).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{types:?}");
        let refused = page(&app, "/tasks/send", types, &bare).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{types:?}");
    }
    let listed = rpc(&app, Some("1.0"), "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["totalSize"], 0, "{listed}");
    let answer = json(page(&app, "/", &[], &call).await).await;
    assert!(answer.get("result").is_some(), "who is no browser may leave the type out: {answer}");
}

#[tokio::test]
async fn pages_and_names_of_others_are_refused_everywhere() {
    let guard = HttpGuard {
        origins: vec!["https://app.example".into()],
        hosts: Some(Vec::new()),
        ..HttpGuard::default()
    };
    let app = guard.wrap(app().await);
    let typed = ("content-type", "application/json");
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": said(&json!({}))});
    for foreign in [("origin", "https://evil.example"), ("host", "evil.example:3978")] {
        for path in ["/", "/message:send", "/tasks/send", "/execute"] {
            let refused = page(&app, path, &[typed, foreign], &call).await;
            assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path} {foreign:?}");
            assert_eq!(refused.headers()["content-type"], "application/problem+json");
            let refused = json(refused).await;
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains("evil.example") && detail.contains("--allow-"), "{detail}");
        }
        for path in ["/.well-known/agent-card.json", "/tasks", "/a2a/catalog", "/healthz"] {
            let refused = get(&app, path, Some(foreign)).await;
            assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path} {foreign:?}");
        }
    }
    let nothing = json!("");
    let foreign = [("content-type", "application/grpc"), ("host", "evil.example")];
    let refused = page(&app, "/lf.a2a.v1.A2AService/GetTask", &foreign, &nothing).await;
    assert_eq!(refused.headers()["grpc-status"], "7");
    let allowed = page(&app, "/", &[typed, ("origin", "https://app.example")], &call).await;
    assert_eq!(allowed.headers()["access-control-allow-origin"], "https://app.example");
    assert!(json(allowed).await.get("result").is_some());
    let asks = Request::options("/")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "a2a-version,authorization")
        .body(Body::empty());
    let permits = app.clone().oneshot(asks.unwrap()).await.unwrap();
    // `*` would not cover `authorization`.
    assert_eq!(permits.headers()["access-control-allow-headers"], "a2a-version,authorization");
    assert_eq!(permits.headers()["access-control-max-age"], "7200");
    let own = [typed, ("host", "localhost:3978"), ("origin", "http://localhost:3978")];
    let own = json(page(&app, "/", &own, &call).await).await;
    assert!(own.get("result").is_some(), "{own}");
}

#[tokio::test]
async fn a_body_that_says_to_be_too_large_is_not_read() {
    let app = app().await;
    for (path, field) in
        [("/", "/error/code"), ("/tasks/send", "/error/code"), ("/message:send", "/error/code")]
    {
        // A server that waited for this body would wait for ever.
        let body =
            Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let request = Request::post(path)
            .header("content-type", "application/json")
            .header("content-length", "1000000000");
        let refused = app.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        let refused = json(refused).await;
        let code = refused.pointer(field).and_then(Value::as_i64);
        assert!(matches!(code, Some(-32600 | 413)), "{path}: {refused}");
    }
}

#[tokio::test]
async fn only_types_of_the_card_are_taken() {
    let app = app_with_card(|card| card.default_input_modes = vec!["text".into()]).await;
    let data =
        || said(&json!({"parts": [{"data": {}}, {"raw": "AA==", "mediaType": "image/png"}]}));
    let refused = rpc(&app, Some("1.0"), "SendMessage", data()).await;
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    assert_eq!(
        refused["error"]["message"],
        "message.parts[1]: expected a part of one of the types text, found image/png"
    );
    let refused = post(&app, "/message:send", &[], &data()).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let markdown = said(&json!({"parts": [{"text": "hi", "mediaType": "text/markdown"}]}));
    let answer = rpc(&app, Some("1.0"), "SendMessage", markdown).await;
    assert!(answer.get("result").is_some(), "{answer}");
}
