//! Tests the server from a client's view, without a socket.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::app::{app, get, post, rpc, say, text};

#[tokio::test]
async fn a_waiting_send_answers_with_the_completed_task() {
    let app = app().await;
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    // The answer is an artifact, without a name, and stands nowhere else.
    let [answer] = &task["artifacts"].as_array().unwrap()[..] else {
        panic!("{task}");
    };
    assert_eq!(answer["parts"], json!([{"text": "You said: hi"}]));
    assert_eq!(answer.get("name"), None);
    assert_eq!(task.to_string().matches("You said").count(), 1, "{task}");
    assert_eq!(task["history"][0]["messageId"], "m-1");

    let id = task["id"].as_str().unwrap();
    let got = rpc(&app, Some("1.0"), "GetTask", json!({"id": id, "historyLength": 0})).await;
    assert_eq!(got["result"]["status"], task["status"]);
    assert!(got["result"].get("history").is_none());
    let again = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    assert_eq!(again["result"]["task"]["id"], id, "a repeated message began another task");
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
    assert_eq!(answer["artifacts"][0]["parts"][0]["text"], "You said: hi", "{answer}");
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
    assert_eq!(items.len(), 3, "{events}");
    assert_eq!(items[0]["result"]["task"]["status"]["state"], "TASK_STATE_WORKING");
    let answer = &items[1]["result"]["artifactUpdate"];
    assert_eq!(answer["artifact"]["parts"][0]["text"], "You said: hi");
    let update = &items[2]["result"]["statusUpdate"];
    assert_eq!(update["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(update["status"].get("message"), None);

    // The first event's place, from which the same turn is taken up again.
    let first = events.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let headers = [("a2a-version", "1.0"), ("last-event-id", first.as_str())];
    let again = text(post(&app, "/", &headers, &body).await).await;
    assert_eq!(again.matches("data: ").count(), 2, "{again}");
    assert!(again.contains("TASK_STATE_COMPLETED"));
}

#[tokio::test]
async fn errors_say_what_is_wrong_and_change_nothing() {
    let app = app().await;
    for (version, method, params, code, message) in [
        (Some("1.0"), "message/send", json!({}), -32601, "A2A 1.0 has no method \"message/send\""),
        (None, "Nonsense", json!({}), -32601, "there is no method \"Nonsense\""),
        (
            None,
            "send_message",
            json!({}),
            -32601,
            "there is no method \"send_message\": call \"SendMessage\"",
        ),
        (
            Some("0.3"),
            "message.send",
            json!({}),
            -32601,
            "there is no method \"message.send\": call \"message/send\"",
        ),
        (Some("2.0"), "GetTask", json!({}), -32009, "A2A 2.0 is not supported"),
        (Some("1.0"), "GetTask", json!({}), -32602, "id: expected a string, found nothing"),
        (Some("1.0"), "GetTask", json!({"id": "x"}), -32001, "task x not found"),
        (Some("1.0"), "CancelTask", json!({"id": "x"}), -32001, "task x not found"),
        (Some("1.0"), "SubscribeToTask", json!({"id": "x"}), -32001, "task x not found"),
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
            -32001,
            "task x not found",
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
async fn a_request_without_an_id_reports_its_other_mistakes() {
    let app = app().await;
    for (method, params, code) in [
        ("message/ssend", json!({}), json!(-32601)),
        ("message/send", json!({"": "not a dict"}), json!(-32602)),
        ("SendMessage", say("m-1", "hi"), json!(-32600)),
    ] {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let answer = text(post(&app, "/a2a", &[], &body).await).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &code), "{answer}");
    }
    let listed = rpc(&app, Some("1.0"), "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["totalSize"], 0, "{listed}");
}

#[tokio::test]
async fn invalid_json_in_parameters_is_reported_first() {
    let app = app().await;
    for (method, params) in [
        ("Nonsense", r#"{"id": "\x"}"#),
        ("GetTask", r#"{"id": "\ud8"}"#),
        ("SendMessage", r#"{"message": {"parts": [{"data": 1e999}]}}"#),
        ("message/send", r#"{"message": "\x"}"#),
    ] {
        let body =
            format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}"#);
        let request = Request::post("/a2a").header("content-type", "application/json");
        let answer = app.clone().oneshot(request.body(Body::from(body)).unwrap());
        let answer: Value = serde_json::from_str(&text(answer.await.unwrap()).await).unwrap();
        let said = (&answer["id"], &answer["error"]["code"]);
        assert_eq!(said, (&Value::Null, &json!(-32700)), "{answer}");
    }
}

#[tokio::test]
async fn an_ended_task_cannot_be_canceled_subscribed_to_or_continued() {
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
async fn a_stream_that_is_refused_is_an_event_as_readers_take_nothing_else() {
    let app = app().await;
    let unknown = json!({"id": "x"});
    for (version, method, params, code) in [
        (Some("1.0"), "SendStreamingMessage", &json!({}), -32602),
        (None, "tasks/resubscribe", &unknown, -32001),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let header = version.map(|version| ("a2a-version", version));
        let response = post(&app, "/a2a", header.as_slice(), &body).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let said = text(response).await;
        let error = said.strip_prefix("data: ").unwrap_or_else(|| panic!("{method}: {said}"));
        let error: Value = serde_json::from_str(error).unwrap();
        assert_eq!(error["error"]["code"], code, "{method}: {said}");
        assert_eq!(error["id"], 7, "{method}: {said}");
    }
}

#[tokio::test]
async fn cards_are_served_in_every_generation_and_cached() {
    let app = app().await;
    let pure = get(&app, "/.well-known/agent-card.json", Some(("a2a-version", "1.0"))).await;
    let etag = pure.headers()["etag"].to_str().unwrap().to_owned();
    assert!(pure.headers()["cache-control"].to_str().unwrap().contains("max-age"));
    let pure: Value = serde_json::from_str(&text(pure).await).unwrap();
    assert!(pure.get("url").is_none());
    assert_eq!(pure["supportedInterfaces"][0]["url"], "http://localhost:3978/a2a");

    let again = [("a2a-version", "1.0"), ("if-none-match", etag.as_str())];
    let mut request = Request::get("/a2a/.well-known/agent-card.json");
    for (name, value) in again {
        request = request.header(name, value);
    }
    let again = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);

    // At the agent's own path it names that path, which stays the agent's if another one becomes the first.
    let both = get(&app, "/a2a/echo/.well-known/agent-card.json", None).await;
    let both: Value = serde_json::from_str(&text(both).await).unwrap();
    let own = "http://localhost:3978/a2a/echo";
    assert_eq!(both["url"], own);
    let interfaces = both["supportedInterfaces"].as_array().unwrap();
    assert!(interfaces.iter().all(|one| one["url"] == own), "{both}");
    let old = get(&app, "/.well-known/agent.json", None).await;
    assert_eq!(old.status(), StatusCode::OK);
    let old: Value = serde_json::from_str(&text(old).await).unwrap();
    assert_eq!(old["base_url"], "http://localhost:3978/a2a");
    assert_eq!(old["authentication"]["type"], "none");
}

/// The design of a club's agent has this payload of a task, which has no id.
#[tokio::test]
async fn the_payload_of_the_clubs_document_is_a_task() {
    let app = app().await;
    let payload = include_str!("../../../snapshots/wire/club/payload.json");
    let payload: Value = serde_json::from_str(payload).unwrap();
    let answer = post(&app, "/tasks/send", &[], &payload).await;
    let task: Value = serde_json::from_str(&text(answer).await).unwrap();
    assert_eq!(task["status"]["state"], "completed", "{task}");
    assert_eq!(task["history"][0]["parts"], payload["message"]["parts"]);
}

#[tokio::test]
async fn a_list_goes_page_by_page_and_keeps_to_its_filters() {
    let app = app().await;
    let mut ids = Vec::new();
    for number in 1..=5 {
        let mut request = say(&format!("m-{number}"), "hi");
        request["message"]["contextId"] = json!(if number == 3 { "three" } else { "others" });
        let answer = rpc(&app, Some("1.0"), "SendMessage", request).await;
        ids.push(answer["result"]["task"]["id"].clone());
    }
    let (mut seen, mut token) = (Vec::new(), json!(""));
    loop {
        let page = json!({"pageSize": 2, "pageToken": token});
        let page = rpc(&app, Some("1.0"), "ListTasks", page).await["result"].clone();
        assert_eq!((&page["totalSize"], &page["pageSize"]), (&json!(5), &json!(2)));
        seen.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()));
        token = page["nextPageToken"].clone();
        if token == "" {
            break;
        }
    }
    assert_eq!(seen.len(), 5);
    assert!(ids.iter().all(|id| seen.contains(id)), "{seen:?}");

    for (filter, count) in [
        (json!({"contextId": "three"}), 1),
        (json!({"contextId": "nobody's"}), 0),
        (json!({"status": "TASK_STATE_COMPLETED"}), 5),
        (json!({"status": "TASK_STATE_WORKING"}), 0),
        (json!({"statusTimestampAfter": "2999-01-01T00:00:00Z"}), 0),
        (json!({"historyLength": 0}), 5),
    ] {
        let answer = rpc(&app, Some("1.0"), "ListTasks", filter.clone()).await;
        assert_eq!(answer["result"]["totalSize"], count, "{filter}: {answer}");
    }
}

#[tokio::test]
async fn an_ended_task_is_still_subscribed_to_from_a_known_event() {
    let app = app().await;
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let id = answer["result"]["task"]["id"].as_str().unwrap().to_owned();
    let body =
        json!({"jsonrpc": "2.0", "id": 7, "method": "SubscribeToTask", "params": {"id": id}});
    for (seq, events) in [(1, 3), (99, 0)] {
        let last = format!("{id}/{seq}");
        let headers = [("a2a-version", "1.0"), ("last-event-id", last.as_str())];
        let shown = text(post(&app, "/a2a", &headers, &body).await).await;
        assert_eq!(shown.matches("data: ").count(), events, "after {seq}: {shown}");
    }
    let broken = [("a2a-version", "1.0"), ("last-event-id", "nonsense")];
    let shown = text(post(&app, "/a2a", &broken, &body).await).await;
    assert!(shown.contains("expected TASK/SEQUENCE"), "{shown}");
}
