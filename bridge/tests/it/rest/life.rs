//! A task's life in 1.0 and in both forms of 0.3, with its streams.

use axum::{Router, http::StatusCode};
use serde_json::{Value, json};

use super::{ask, json_of, ok, say_v0_3};
use crate::app::{app, say, text};

/// Returns the ids and the data of a stream's events.
async fn stream(
    app: &Router,
    what: &str,
    headers: &[&str],
    body: Option<&Value>,
) -> Vec<(String, Value)> {
    let response = ask(app, what, headers, body).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let caching = response.headers()["cache-control"].to_str().unwrap();
    assert!(caching.contains("no-transform"), "compression would hold events back: {caching}");
    let text = text(response).await;
    let events = text.split("\n\n").filter(|event| event.contains("data: "));
    let field = |event: &str, name: &str| {
        let lines = event.lines();
        lines.filter_map(|line| line.strip_prefix(name)).collect::<String>()
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
    let sent = ask(&app, "POST /a2a/echo/message:send", &[], Some(&say("m-1", "hi"))).await;
    assert_eq!(sent.headers()["content-type"], "application/a2a+json");
    let task = json_of(sent).await["task"].take();
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "You said: hi"}]));
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
    assert_eq!((&listed["tasks"][0]["id"], &listed["totalSize"]), (&task["id"], &json!(1)));
}

#[tokio::test]
async fn streams_have_bare_items_and_are_taken_up_again() {
    let app = app().await;
    let events = stream(&app, "POST /a2a/message:stream", &[], Some(&say("m-1", "hi"))).await;
    let kinds: Vec<&str> = events
        .iter()
        .flat_map(|(_, item)| item.as_object().unwrap().keys().map(String::as_str))
        .collect();
    assert_eq!(kinds, ["task", "artifactUpdate", "statusUpdate"], "{events:?}");
    let task = events[0].1["task"]["id"].as_str().unwrap();
    assert!(events.iter().all(|(id, _)| id.starts_with(task)), "{events:?}");
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
    let sent = ask(&app, "POST /a2a/v1/message:send", &[], Some(&say_v0_3("m-1", "hi"))).await;
    assert_eq!(sent.headers()["content-type"], "application/json");
    let task = json_of(sent).await["task"].take();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "You said: hi"}]));
    let id = task["id"].as_str().unwrap();
    assert_eq!(ok(&app, &format!("GET /a2a/v1/tasks/{id}"), None).await, task);
    let listed = ok(&app, "GET /a2a/v1/tasks", None).await;
    assert_eq!(listed[0]["id"], task["id"]);
    let events =
        stream(&app, "POST /a2a/v1/message:stream", &[], Some(&say_v0_3("m-2", "hi"))).await;
    assert_eq!(events[2].1["statusUpdate"]["final"], true, "{events:?}");

    let plain = json!({"message": {"kind": "message", "messageId": "m-3", "role": "user",
        "parts": [{"kind": "text", "text": "hi"}]}});
    let answer = ok(&app, "POST /a2a/v1/message:send", Some(&plain)).await;
    assert_eq!(answer["task"]["kind"], "task");
    assert_eq!(answer["task"]["status"]["state"], "completed");
    let mut plain = plain;
    plain["message"]["messageId"] = "m-4".into();
    let events = stream(&app, "POST /a2a/v1/message:stream", &[], Some(&plain)).await;
    assert_eq!(events[2].1["statusUpdate"]["status"]["state"], "completed");
}
