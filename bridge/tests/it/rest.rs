//! HTTP+JSON as clients see it, without a socket; `interop` has the foreign clients over real ones.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
};
use bridge::{agent::Agent, host::Host, store::MemoryStore};
use bridge_protocol::a2a::AgentExtension;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::app::{agent, app, app_with_card, say, text};

/// A message as 0.3 has it in ProtoJSON.
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
    let request = request.body(body).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

async fn json_of(response: Response<Body>) -> Value {
    let text = text(response).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The answer to a request that is in order.
async fn ok(app: &Router, what: &str, body: Option<&Value>) -> Value {
    let response = ask(app, what, &[], body).await;
    let status = response.status();
    let answer = json_of(response).await;
    assert_eq!(status, StatusCode::OK, "{what}: {answer}");
    answer
}

/// The ids and the data of a stream's events.
async fn stream(
    app: &Router,
    what: &str,
    headers: &[&str],
    body: Option<&Value>,
) -> Vec<(String, Value)> {
    let response = ask(app, what, headers, body).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = text(response).await;
    let events = text.split("\n\n").filter(|event| event.contains("data: "));
    let field = |event: &str, name: &str| {
        let lines = event.lines();
        lines
            .filter_map(|line| line.strip_prefix(name))
            .collect::<String>()
    };
    events
        .map(|event| {
            let data = serde_json::from_str(&field(event, "data: ")).unwrap();
            (field(event, "id: "), data)
        })
        .collect()
}

#[tokio::test]
async fn a_task_lives_over_1_0() {
    let app = app().await;
    let sent = ask(
        &app,
        "POST /a2a/echo/message:send",
        &[],
        Some(&say("m-1", "hi")),
    )
    .await;
    assert_eq!(sent.headers()["content-type"], "application/a2a+json");
    let task = json_of(sent).await["task"].take();
    assert_eq!(
        task["status"]["message"]["parts"],
        json!([{"text": "You said: hi"}])
    );
    let id = task["id"].as_str().unwrap();
    for base in ["", "/a2a", "/a2a/echo"] {
        let got = ok(&app, &format!("GET {base}/tasks/{id}"), None).await;
        assert_eq!(got, task, "{base}");
    }
    // Another tenant's task does not exist.
    let other = ask(&app, &format!("GET /a2a/echo/acme/tasks/{id}"), &[], None).await;
    assert_eq!(other.status(), StatusCode::NOT_FOUND);
    let short = ok(&app, &format!("GET /a2a/tasks/{id}?historyLength=0"), None).await;
    assert!(short.get("history").is_none(), "{short}");
    let context = task["contextId"].as_str().unwrap();
    let query = format!("contextId={context}&status=TASK_STATE_COMPLETED&pageSize=1");
    let listed = ok(&app, &format!("GET /a2a/tasks?{query}"), None).await;
    assert_eq!(
        (&listed["tasks"][0]["id"], &listed["totalSize"]),
        (&task["id"], &json!(1))
    );
}

#[tokio::test]
async fn streams_have_bare_items_and_are_taken_up_again() {
    let app = app().await;
    let events = stream(
        &app,
        "POST /a2a/message:stream",
        &[],
        Some(&say("m-1", "hi")),
    )
    .await;
    let kinds: Vec<&str> = events
        .iter()
        .flat_map(|(_, item)| item.as_object().unwrap().keys().map(String::as_str))
        .collect();
    assert_eq!(kinds, ["task", "statusUpdate"], "{events:?}");
    let task = events[0].1["task"]["id"].as_str().unwrap();
    assert!(
        events.iter().all(|(id, _)| id.starts_with(task)),
        "{events:?}"
    );
    // An ended task shows what came after the event that was seen last; without one it is refused.
    let last = format!("Last-Event-ID: {}", events[0].0);
    for method in ["GET", "POST"] {
        let subscribe = format!("{method} /a2a/tasks/{task}:subscribe");
        let again = stream(&app, &subscribe, &[&last], None).await;
        assert_eq!(again, events[1..], "{subscribe}");
        let refused = ask(&app, &subscribe, &[], None).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn a_task_lives_over_0_3_in_both_of_its_forms() {
    let app = app().await;
    let sent = ask(
        &app,
        "POST /a2a/v1/message:send",
        &[],
        Some(&say_v0_3("m-1", "hi")),
    )
    .await;
    assert_eq!(sent.headers()["content-type"], "application/json");
    let task = json_of(sent).await["task"].take();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(
        task["status"]["message"]["content"],
        json!([{"text": "You said: hi"}])
    );
    let id = task["id"].as_str().unwrap();
    assert_eq!(
        ok(&app, &format!("GET /a2a/v1/tasks/{id}"), None).await,
        task
    );
    let listed = ok(&app, "GET /a2a/v1/tasks", None).await;
    assert_eq!(listed[0]["id"], task["id"]);
    let events = stream(
        &app,
        "POST /a2a/v1/message:stream",
        &[],
        Some(&say_v0_3("m-2", "hi")),
    )
    .await;
    assert_eq!(events[1].1["statusUpdate"]["final"], true, "{events:?}");

    let plain = json!({"message": {"kind": "message", "messageId": "m-3", "role": "user",
        "parts": [{"kind": "text", "text": "hi"}]}});
    let answer = ok(&app, "POST /a2a/v1/message:send", Some(&plain)).await;
    assert_eq!(answer["task"]["kind"], "task");
    assert_eq!(answer["task"]["status"]["state"], "completed");
    let mut plain = plain;
    plain["message"]["messageId"] = "m-4".into();
    let events = stream(&app, "POST /a2a/v1/message:stream", &[], Some(&plain)).await;
    assert_eq!(events[1].1["statusUpdate"]["status"]["state"], "completed");
}

#[tokio::test]
async fn errors_name_what_was_expected() {
    let app = app().await;
    let ended = ok(&app, "POST /a2a/message:send", Some(&say("m-1", "hi"))).await;
    let id = ended["task"]["id"].as_str().unwrap().to_owned();
    let cancel = format!("POST /a2a/tasks/{id}:cancel");
    let hi = say("m-2", "hi");
    let cases: &[(&str, &[&str], Option<Value>)] = &[
        ("GET /a2a/tasks/none", &[], None),
        ("GET /a2a/tasks?pageSize=0", &[], None),
        ("GET /a2a/tasks?pageSize=many", &[], None),
        ("GET /a2a/tasks?page_size=7", &[], None),
        ("GET /a2a/tasks?status=working", &[], None),
        ("GET /a2a/tasks?statusTimestampAfter=yesterday", &[], None),
        ("GET /a2a/tasks/t?historyLength=-1", &[], None),
        (&cancel, &[], None),
        ("POST /a2a/tasks/t:cancel", &[], Some(json!({"id": "u"}))),
        ("POST /a2a/message:send", &[], None),
        (
            "POST /a2a/message:send",
            &[],
            Some(json!({"message": {"messageId": "m"}})),
        ),
        (
            "POST /a2a/message:send",
            &["content-type: text/plain"],
            None,
        ),
        (
            "POST /a2a/message:send",
            &["A2A-Version: 0.3"],
            Some(hi.clone()),
        ),
        (
            "POST /a2a/v1/message:send",
            &["A2A-Version: 1.0"],
            Some(hi.clone()),
        ),
        (
            "POST /a2a/message:send?A2A-Version=7.0",
            &[],
            Some(hi.clone()),
        ),
        ("GET /a2a/tasks/t:subscribe", &["Last-Event-ID: x"], None),
        ("GET /a2a/tasks/t/pushNotificationConfigs", &[], None),
        ("GET /a2a/extendedAgentCard", &[], None),
        ("GET /a2a/v1/card", &[], None),
        ("GET /a2a", &[], None),
        ("GET /a2a/message:send", &[], None),
        ("DELETE /a2a/tasks/t", &[], None),
        ("GET /a2a/nobody", &[], None),
        ("POST /a2a/nobody/message:send", &[], Some(hi.clone())),
        ("GET /a2a/tasks/t:explode", &[], None),
        (
            "POST /a2a/echo/acme/message:send",
            &[],
            Some(json!({"tenant": "other", "message": hi["message"]})),
        ),
    ];
    let mut shown = String::new();
    for (what, headers, body) in cases {
        let response = ask(&app, what, headers, body.as_ref()).await;
        let status = response.status();
        let is_older = what.contains("/v1");
        let media_type = ["application/a2a+json", "application/json"][usize::from(is_older)];
        assert_eq!(response.headers()["content-type"], media_type, "{what}");
        let allow = response.headers().get("allow").cloned();
        let allow = allow.map(|allow| format!(" (allow: {})", allow.to_str().unwrap()));
        let mut body = json_of(response).await;
        let error = body["error"].take();
        assert_eq!(error["code"], status.as_u16());
        // Readers of 0.3 look for the code of JSON-RPC, and find it outside.
        let older = (body["code"].is_i64(), body["message"] == error["message"]);
        assert_eq!(older, (is_older, is_older), "{what}: {body}");
        let info = &error["details"][0];
        assert_eq!(info["domain"], "a2a-protocol.org");
        let field = &error["details"][1]["fieldViolations"][0]["field"];
        let field = field.as_str().map(|field| format!(" [{field}]"));
        shown += &format!(
            "{what}\n  {status}{} {} {}{}\n  {}\n",
            allow.unwrap_or_default(),
            error["status"].as_str().unwrap(),
            info["reason"].as_str().unwrap(),
            field.unwrap_or_default(),
            error["message"].as_str().unwrap(),
        );
    }
    insta::assert_snapshot!(shown.replace(&id, "TASK"));
}

#[tokio::test]
async fn an_error_is_a_google_rpc_status() {
    let app = app().await;
    let refused = ask(
        &app,
        "GET /a2a/tasks?pageSize=x",
        &["Accept: application/json"],
        None,
    )
    .await;
    assert_eq!(refused.headers()["content-type"], "application/json");
    insta::assert_json_snapshot!(json_of(refused).await);
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
    let card = ok(
        &app,
        "GET /.well-known/agent-card.json?A2A-Version=1.0",
        None,
    )
    .await;
    let shown: Vec<String> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one["url"], one["protocolBinding"], one["protocolVersion"]
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn an_agent_is_not_called_like_an_operation() {
    for name in ["v1", "tasks", "extendedAgentCard", "catalog"] {
        let other = Agent {
            name: name.to_owned(),
            ..agent("echo")
        };
        let host = Host::new(Arc::new(MemoryStore::new()), [agent("echo"), other]);
        let refused = host.router("http://localhost:3978").await.unwrap_err();
        let expected =
            format!("{name:?} is no name for an agent: something else is at /a2a/{name}");
        assert_eq!(refused.to_string(), expected);
    }
}

#[tokio::test]
async fn a_required_extension_is_insisted_on_and_named() {
    let offer = |uri: &str, required: bool| AgentExtension {
        uri: uri.into(),
        description: None,
        required,
        params: None,
        extra: serde_json::Map::new(),
    };
    let extensions = vec![offer("urn:must", true), offer("urn:may", false)];
    let app = app_with_card(|card| card.capabilities.extensions = extensions).await;
    let hi = say("m-1", "hi");
    let refused = ask(
        &app,
        "POST /a2a/message:send",
        &["A2A-Extensions: urn:may"],
        Some(&hi),
    )
    .await;
    let error = json_of(refused).await["error"].take();
    assert_eq!(error["details"][0]["reason"], "EXTENSION_SUPPORT_REQUIRED");
    let message = "this agent requires an extension: send A2A-Extensions: urn:must";
    assert_eq!(error["message"], message);
    let asked: &[(&str, &[&str], &str)] = &[
        (
            "POST /a2a/message:send",
            &["A2A-Extensions: urn:must, urn:x"],
            "urn:must",
        ),
        (
            "POST /a2a/message:send",
            &["A2A-Extensions: urn:may,urn:must"],
            "urn:may, urn:must",
        ),
        (
            "POST /a2a/message:send?A2A-Extensions=urn:must",
            &[],
            "urn:must",
        ),
    ];
    for (what, headers, active) in asked {
        let response = ask(&app, what, headers, Some(&hi)).await;
        assert_eq!(response.status(), StatusCode::OK, "{what} {headers:?}");
        assert_eq!(response.headers()["a2a-extensions"], *active);
    }
    let mut using = hi.clone();
    using["message"]["extensions"] = json!(["urn:must"]);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": using});
    let response = ask(&app, "POST /a2a", &[], Some(&body)).await;
    assert_eq!(response.headers()["a2a-extensions"], "urn:must");
    let old = ask(
        &app,
        "POST /a2a/v1/message:send",
        &["X-A2A-Extensions: urn:must"],
        Some(&say_v0_3("m-3", "hi")),
    )
    .await;
    assert_eq!(old.headers()["x-a2a-extensions"], "urn:must");
}
