//! The server as clients see it, without a socket.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
};
use bridge::{
    agent::{Agent, TurnSettings},
    executor::Answer,
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::a2a::AgentCard;
use serde_json::{Value, json};
use tower::ServiceExt as _;

async fn app() -> Router {
    let agent = Agent {
        name: "echo".to_owned(),
        card: AgentCard::named("Echo", "Says it again."),
        executor: Arc::new(Answer(|text: &str| format!("You said: {text}"))),
        settings: TurnSettings::default(),
    };
    let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
    host.router("http://localhost:3978").await.unwrap()
}

async fn get(app: &Router, path: &str, header: Option<(&str, &str)>) -> Response<Body> {
    let mut request = Request::get(path);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    app.clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap()
}

async fn text(response: Response<Body>) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn post(app: &Router, path: &str, headers: &[(&str, &str)], body: &Value) -> Response<Body> {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string())).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

async fn rpc(app: &Router, version: Option<&str>, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let header = version.map(|version| ("a2a-version", version));
    let response = post(app, "/a2a", header.as_slice(), &body).await;
    assert_eq!(response.status(), StatusCode::OK);
    let answer: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(answer["id"], 7);
    answer
}

fn say(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

#[tokio::test]
async fn a_waiting_send_answers_with_the_completed_task() {
    let app = app().await;
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(
        task["status"]["message"]["parts"],
        json!([{"text": "You said: hi"}])
    );
    assert_eq!(task["history"][0]["messageId"], "m-1");

    let id = task["id"].as_str().unwrap();
    let got = rpc(
        &app,
        Some("1.0"),
        "GetTask",
        json!({"id": id, "historyLength": 0}),
    )
    .await;
    assert_eq!(got["result"]["status"], task["status"]);
    assert!(got["result"].get("history").is_none());
    let again = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    assert_eq!(
        again["result"]["task"]["id"], id,
        "a repeated message began another task"
    );
}

#[tokio::test]
async fn one_address_speaks_every_version() {
    let app = app().await;
    let old = json!({"message": {"kind": "message", "messageId": "m-3", "role": "user",
        "parts": [{"kind": "text", "text": "hi"}]}});
    let answer = rpc(&app, None, "message/send", old).await;
    assert_eq!(answer["result"]["kind"], "task");
    assert_eq!(answer["result"]["status"]["state"], "completed");

    let oldest = json!({"id": "my-task", "message": {"role": "user",
        "parts": [{"type": "text", "text": "hi"}]}});
    let answer = rpc(&app, None, "tasks/send", oldest.clone()).await;
    assert_eq!(answer["result"]["id"], "my-task", "{answer}");
    assert_eq!(answer["result"]["status"]["state"], "completed");
    let got = rpc(&app, None, "tasks/get", json!({"id": "my-task"})).await;
    assert_eq!(got["result"]["id"], "my-task", "{got}");

    let bare = json!({"id": "other", "message": oldest["message"]});
    let response = post(&app, "/a2a/tasks/send", &[], &bare).await;
    let answer: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(
        answer["artifacts"][0]["parts"][0]["text"], "You said: hi",
        "{answer}"
    );
}

#[tokio::test]
async fn a_stream_shows_the_task_and_what_follows_with_ids() {
    let app = app().await;
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage",
        "params": say("m-1", "hi")});
    let response = post(&app, "/", &[("a2a-version", "1.0")], &body).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = text(response).await;
    let items: Vec<Value> = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(items.len(), 2, "{events}");
    assert_eq!(
        items[0]["result"]["task"]["status"]["state"],
        "TASK_STATE_WORKING"
    );
    let update = &items[1]["result"]["statusUpdate"];
    assert_eq!(update["status"]["state"], "TASK_STATE_COMPLETED");

    // The first event's place, from which the same turn is taken up again.
    let first = events
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap()
        .to_owned();
    let headers = [("a2a-version", "1.0"), ("last-event-id", first.as_str())];
    let again = text(post(&app, "/", &headers, &body).await).await;
    assert_eq!(again.matches("data: ").count(), 1, "{again}");
    assert!(again.contains("TASK_STATE_COMPLETED"));
}

#[tokio::test]
async fn errors_say_what_is_wrong_and_change_nothing() {
    let app = app().await;
    for (version, method, params, code, message) in [
        (
            Some("1.0"),
            "message/send",
            json!({}),
            -32601,
            "A2A 1.0 has no method \"message/send\"",
        ),
        (
            None,
            "Nonsense",
            json!({}),
            -32601,
            "there is no method \"Nonsense\"",
        ),
        (
            Some("2.0"),
            "GetTask",
            json!({}),
            -32009,
            "A2A 2.0 is not supported",
        ),
        (
            Some("1.0"),
            "GetTask",
            json!({}),
            -32602,
            "id: expected a string, found nothing",
        ),
        (
            Some("1.0"),
            "GetTask",
            json!({"id": "x"}),
            -32001,
            "there is no task x",
        ),
        (
            Some("1.0"),
            "CancelTask",
            json!({"id": "x"}),
            -32001,
            "there is no task x",
        ),
        (
            Some("1.0"),
            "SubscribeToTask",
            json!({"id": "x"}),
            -32001,
            "there is no task x",
        ),
        (
            Some("1.0"),
            "SendMessage",
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}),
            -32602,
            "message.parts: expected at least one part, found an empty list",
        ),
        (
            Some("1.0"),
            "ListTasks",
            json!({"pageSize": 101}),
            -32602,
            "pageSize: expected a number from 1 to 100, found 101",
        ),
        (
            Some("1.0"),
            "CreateTaskPushNotificationConfig",
            json!({"taskId": "x", "url": "http://h/"}),
            -32003,
            "push notifications are not supported",
        ),
    ] {
        let answer = rpc(&app, version, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.starts_with(message), "{method}: {said}");
        assert!(answer["error"]["data"][0]["reason"].is_string(), "{answer}");
    }
    let list = rpc(&app, Some("1.0"), "ListTasks", json!({})).await;
    assert_eq!(list["result"]["totalSize"], 0, "{list}");
}

#[tokio::test]
async fn an_ended_task_is_neither_canceled_nor_subscribed_to_nor_continued() {
    let app = app().await;
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let id = answer["result"]["task"]["id"].clone();
    let mut more = say("m-2", "more");
    more["message"]["taskId"] = id.clone();
    for (method, params, code) in [
        ("CancelTask", json!({"id": id}), -32002),
        ("SubscribeToTask", json!({"id": id}), -32004),
        ("SendMessage", more, -32004),
    ] {
        let answer = rpc(&app, Some("1.0"), method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
}

#[tokio::test]
async fn cards_are_served_in_every_generation_and_cached() {
    let app = app().await;
    let pure = get(
        &app,
        "/.well-known/agent-card.json",
        Some(("a2a-version", "1.0")),
    )
    .await;
    let etag = pure.headers()["etag"].to_str().unwrap().to_owned();
    assert!(
        pure.headers()["cache-control"]
            .to_str()
            .unwrap()
            .contains("max-age")
    );
    let pure: Value = serde_json::from_str(&text(pure).await).unwrap();
    assert!(pure.get("url").is_none());
    assert_eq!(
        pure["supportedInterfaces"][0]["url"],
        "http://localhost:3978/a2a"
    );

    let again = [("a2a-version", "1.0"), ("if-none-match", etag.as_str())];
    let mut request = Request::get("/a2a/.well-known/agent-card.json");
    for (name, value) in again {
        request = request.header(name, value);
    }
    let again = app
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);

    let both = get(&app, "/a2a/echo/.well-known/agent-card.json", None).await;
    let both: Value = serde_json::from_str(&text(both).await).unwrap();
    assert_eq!(both["url"], "http://localhost:3978/a2a");
    assert!(both["supportedInterfaces"].is_array());
    let old = get(&app, "/.well-known/agent.json", None).await;
    assert_eq!(old.status(), StatusCode::OK);
}
