//! The extension that numbers the events of tasks, over every binding.

use std::{pin::pin, sync::Arc};

use axum::{Router, body::Body, http::Request};
use bridge::{
    bot::{BotExecutor, BotSettings, Sample},
    host::{Grpc, Host},
    service::sequence::EXTENSION,
    store::MemoryStore,
};
use bridge_protocol::{
    a2a::{GetTaskRequest, SubscribeToTaskRequest, Task},
    dialect::Call,
    protobuf::v1,
};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tower::ServiceExt as _;

use crate::{
    app::{get, named, post, rpc, say, text},
    grpc::{self, call},
};

const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/// The number of polls after which a future counts as waiting.
const POLLS: usize = 100;

/// Returns the headers of a client.
fn headers(wants: bool, last: Option<&str>) -> Vec<(&str, &str)> {
    let wanted = wants.then_some(("a2a-extensions", EXTENSION));
    let last = last.map(|last| ("last-event-id", last));
    [("a2a-version", "1.0")].into_iter().chain(wanted).chain(last).collect()
}

fn lines(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the items of a subscription.
async fn subscribed(app: &Router, binding: &str, id: &str, headers: &[(&str, &str)]) -> Vec<Value> {
    match binding {
        "JSONRPC" => {
            let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SubscribeToTask", "params": {"id": id}});
            let items = lines(&text(post(app, "/a2a", headers, &body).await).await);
            items.into_iter().map(|mut item| item["result"].take()).collect()
        }
        "HTTP+JSON" => {
            let path = format!("/tasks/{id}:subscribe");
            lines(&text(post(app, &path, headers, &json!({})).await).await)
        }
        _ => {
            let request = Call::SubscribeToTask(SubscribeToTaskRequest::new(id));
            let items = call(app, headers, &request).await.items();
            items.iter().map(|item| serde_json::to_value(item).unwrap()).collect()
        }
    }
}

/// Returns the answer of GetTask: a task, or an error.
async fn got(app: &Router, binding: &str, id: &str, headers: &[(&str, &str)]) -> Value {
    match binding {
        "JSONRPC" => {
            let body =
                json!({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": id}});
            let answer = text(post(app, "/a2a", headers, &body).await).await;
            let mut answer: Value = serde_json::from_str(&answer).unwrap();
            let name = if answer["error"].is_null() { "result" } else { "error" };
            answer[name].take()
        }
        "HTTP+JSON" => {
            let mut request = Request::get(format!("/tasks/{id}"));
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = named(request).body(Body::empty()).unwrap();
            let answer = app.clone().oneshot(request).await.unwrap();
            serde_json::from_str(&text(answer).await).unwrap()
        }
        _ => {
            let answer = call(app, headers, &Call::GetTask(GetTaskRequest::new(id))).await;
            match answer.code {
                0 => serde_json::to_value(answer.one::<v1::Task, Task>()).unwrap(),
                _ => json!({"code": answer.error.code}),
            }
        }
    }
}

fn number(metadata: &Value) -> Option<u64> {
    metadata[EXTENSION]["sequence"].as_f64().map(|number| number as u64)
}

/// Returns the number of an item of a stream.
fn of_item(item: &Value) -> Option<u64> {
    let item = item.as_object().unwrap().values().next().unwrap();
    number(&item["metadata"])
}

/// Returns the id of a task that has ended, and the number of its last event.
async fn ended(app: &Router) -> (String, u64) {
    let sent = rpc(app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let id = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    let task = got(app, "JSONRPC", &id, &headers(true, None)).await;
    (id, number(&task["metadata"]).unwrap())
}

#[tokio::test]
async fn a_stream_is_taken_up_behind_any_number_over_every_binding() {
    let app = grpc::app(&["echo"], Grpc::Here).await;
    let (id, newest) = ended(&app).await;
    for binding in BINDINGS {
        let all = subscribed(&app, binding, &id, &headers(true, Some(&format!("{id}/0")))).await;
        let numbers: Vec<u64> = all.iter().map(|item| of_item(item).unwrap()).collect();
        assert!(numbers.len() >= 2 && numbers.is_sorted(), "{binding}: {numbers:?}");
        assert!(*numbers.last().unwrap() <= newest, "{binding}: {numbers:?} of {newest}");
        for (seen, number) in numbers.iter().enumerate() {
            let cursor = format!("{id}/{number}");
            let rest = subscribed(&app, binding, &id, &headers(true, Some(&cursor))).await;
            assert_eq!(rest, all[seen + 1..], "{binding}: after {number}");
        }
        let plain = subscribed(&app, binding, &id, &headers(false, Some(&format!("{id}/0")))).await;
        assert_eq!(plain.len(), all.len());
        assert!(plain.iter().all(|item| of_item(item).is_none()), "{binding}: {plain:?}");
    }
}

#[tokio::test]
async fn every_task_has_its_number_where_it_is_wanted() {
    let app = grpc::app(&["echo"], Grpc::Here).await;
    let (id, newest) = ended(&app).await;
    for binding in BINDINGS {
        let task = got(&app, binding, &id, &headers(true, None)).await;
        assert_eq!(number(&task["metadata"]), Some(newest), "{binding}");
        let task = got(&app, binding, &id, &headers(false, None)).await;
        assert_eq!(number(&task["metadata"]), None, "{binding}");
    }
    let rpc = async |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = post(&app, "/a2a", &headers(true, None), &body).await;
        assert_eq!(answer.headers()["a2a-extensions"], EXTENSION, "{method}");
        text(answer).await
    };
    let whole = |answer: String| serde_json::from_str::<Value>(&answer).unwrap()["result"].take();
    let listed = whole(rpc("ListTasks", json!({})).await);
    assert_eq!(number(&listed["tasks"][0]["metadata"]), Some(newest));
    let sent = whole(rpc("SendMessage", say("m-2", "hi")).await);
    assert!(number(&sent["task"]["metadata"]).is_some(), "{sent}");
    let streamed = lines(&rpc("SendStreamingMessage", say("m-3", "hi")).await);
    let mut numbers = streamed.iter().map(|item| of_item(&item["result"]));
    assert!(numbers.all(|number| number.is_some()), "{streamed:?}");
    let card = text(get(&app, "/.well-known/agent-card.json", None).await).await;
    let card: Value = serde_json::from_str(&card).unwrap();
    let offered = card["capabilities"]["extensions"].as_array().unwrap();
    assert!(offered.iter().any(|offer| offer["uri"] == EXTENSION), "{card}");
}

#[tokio::test]
async fn a_task_is_waited_for_until_it_has_news_over_every_binding() {
    let store = Arc::new(MemoryStore::new());
    let agent = bridge::bot::builtin_agent("silent", store.clone()).unwrap();
    let app = Host::new(store, [agent]).grpc(Grpc::Here);
    let app = app.router("http://localhost:3978").await.unwrap();
    for binding in BINDINGS {
        let sent = rpc(&app, Some("1.0"), "SendMessage", say(binding, "hi")).await;
        let id = sent["result"]["task"]["id"].as_str().unwrap();
        let now = got(&app, binding, id, &headers(true, None)).await;
        let cursor = format!("{id}/{}", number(&now["metadata"]).unwrap());
        let wanted = headers(true, Some(&cursor));
        let mut waiting = pin!(got(&app, binding, id, &wanted));
        for _ in 0..POLLS {
            assert!(waiting.as_mut().now_or_never().is_none(), "{binding}: it does not wait");
            yield_now().await;
        }
        rpc(&app, Some("1.0"), "CancelTask", json!({"id": id})).await;
        let news = waiting.await;
        assert_eq!(news["status"]["state"], "TASK_STATE_CANCELED", "{binding}");
        // A task that has ended has no further events, and an older cursor never waits.
        for last in [number(&news["metadata"]).unwrap(), 1] {
            let cursor = format!("{id}/{last}");
            let again = got(&app, binding, id, &headers(true, Some(&cursor))).await;
            assert_eq!(again, news, "{binding}");
        }
        // A cursor does not reveal a task of another caller.
        let tenant = Request::get(format!("/a2a/silent/acme/tasks/{id}"));
        let tenant =
            wanted.iter().fold(tenant, |request, (name, value)| request.header(*name, *value));
        let foreign = app.clone().oneshot(tenant.body(Body::empty()).unwrap());
        assert_eq!(foreign.await.unwrap().status(), 404);
    }
}

/// Returns a message for a task that its sender has seen up to an event.
fn further(id: &str, task: &str, seen: &Value) -> Value {
    let mut request = say(id, "two");
    request["message"]["taskId"] = task.into();
    request["metadata"] = json!({EXTENSION: {"ifSequence": seen}});
    request
}

#[tokio::test]
async fn a_message_to_a_task_that_has_moved_on_is_refused() {
    let store = Arc::new(MemoryStore::new());
    let bot = BotExecutor::new(Arc::new(Sample), store.clone(), BotSettings::new("sample"));
    let host = Host::new(store, [bot.into_agent()]);
    let app = host.router("http://localhost:3978").await.unwrap();
    let send = async |request| {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": request});
        let answer = text(post(&app, "/a2a", &headers(true, None), &body).await).await;
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let first = send(say("m-1", "-multi")).await;
    let task = &first["result"]["task"];
    let (id, seen) = (task["id"].as_str().unwrap(), number(&task["metadata"]));
    let seen = seen.unwrap();

    let second = send(further("m-2", id, &json!(seen))).await;
    let moved = number(&second["result"]["task"]["metadata"]).unwrap();
    assert!(moved > seen, "{second}");
    // The client's own metadata is no data of the task.
    assert!(!second.to_string().contains("ifSequence"), "{second}");

    let late = send(further("m-3", id, &json!(seen))).await;
    let refused = late["error"].to_string();
    assert_eq!(late["error"]["code"], -32602, "{late}");
    let field = format!("metadata.{EXTENSION}.ifSequence");
    assert!(refused.contains(&field), "{late}");
    let now = got(&app, "JSONRPC", id, &headers(true, None)).await;
    let newest = number(&now["metadata"]).unwrap();
    assert!(refused.contains(&format!("last event, {newest}")), "{late}");
    assert!(!now.to_string().contains("m-3"), "{now}");

    // The same message again is found, though it has moved the task on itself.
    let again = send(further("m-2", id, &json!(seen))).await;
    assert_eq!(again["result"]["task"]["id"], id, "{again}");
    let third = send(further("m-3", id, &json!(newest))).await;
    assert_eq!(third["result"]["task"]["id"], id, "{third}");

    let mut nowhere = further("m-4", id, &json!(1));
    nowhere["message"].as_object_mut().unwrap().remove("taskId");
    for (wrong, place) in [
        (nowhere, "message.taskId"),
        (further("m-4", id, &json!("7")), field.as_str()),
        (further("m-4", id, &json!(1.5)), field.as_str()),
        (further("m-4", id, &json!(99_999)), field.as_str()),
    ] {
        let answer = send(wrong).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer.to_string().contains(place), "{answer}");
    }
}
