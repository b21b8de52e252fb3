//! Tests the four operations, for the owner and for other callers.

use std::sync::Arc;

use axum::{Extension, Router};
use bridge::{caller::Caller, push::PushSettings, store::MemoryStore};
use serde_json::{Value, json};

use super::{app, app_with, call, loopback, say};
use crate::app::rpc;

const HOOK: &str = "https://client.example/hook";

/// Creates a task that waits.
async fn task(app: &Router) -> String {
    let mut params = say("m-1", "ask", &Value::Null);
    params["configuration"] = json!({});
    let sent = call(app, "SendMessage", params).await;
    sent["task"]["id"].as_str().unwrap().to_owned()
}

async fn error(app: &Router, version: Option<&str>, method: &str, params: Value) -> (i64, String) {
    let answer = rpc(app, version, method, params).await;
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("{method}: {answer}"));
    (error["code"].as_i64().unwrap(), message.to_owned())
}

#[tokio::test]
async fn settings_are_made_got_listed_and_removed() {
    let app = app().await;
    let task = task(&app).await;
    let made = call(
        &app,
        "CreateTaskPushNotificationConfig",
        json!({"taskId": task, "url": HOOK, "x": 1}),
    )
    .await;
    let id = made["id"].as_str().unwrap();
    assert!(!id.is_empty());
    assert_eq!(
        (&made["taskId"], &made["url"], &made["x"]),
        (&json!(task), &json!(HOOK), &json!(1))
    );
    for own in ["b", "a"] {
        let config = json!({"taskId": task, "id": own, "url": HOOK, "token": own});
        assert_eq!(call(&app, "CreateTaskPushNotificationConfig", config.clone()).await, config);
    }
    let got = call(&app, "GetTaskPushNotificationConfig", json!({"taskId": task, "id": id})).await;
    assert_eq!(got, made);
    let mut pages = Vec::new();
    let mut params = json!({"taskId": task, "pageSize": 2});
    loop {
        let page = call(&app, "ListTaskPushNotificationConfigs", params.clone()).await;
        let configs = page["configs"].as_array().unwrap().iter();
        pages.push(configs.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
        match page.get("nextPageToken") {
            Some(token) => params["pageToken"] = token.clone(),
            None => break,
        }
    }
    let mut ids = pages.concat();
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    ids.sort();
    let mut expected = vec!["a", "b", id];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    for _ in 0..2 {
        let removed =
            call(&app, "DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": id})).await;
        assert_eq!(removed, json!({}));
    }
    let (code, _) = error(
        &app,
        Some("1.0"),
        "GetTaskPushNotificationConfig",
        json!({"taskId": task, "id": id}),
    )
    .await;
    assert_eq!(code, -32001);
}

#[tokio::test]
async fn older_versions_have_one_setting_a_task_unless_they_name_others() {
    let app = app().await;
    let task = task(&app).await;
    let set = |url: &str| json!({"taskId": task, "pushNotificationConfig": {"url": url}});
    for url in ["https://client.example/old", HOOK] {
        let answer = rpc(&app, None, "tasks/pushNotificationConfig/set", set(url)).await;
        let config = &answer["result"]["pushNotificationConfig"];
        assert_eq!((&config["id"], &config["url"]), (&json!(task), &json!(url)), "{answer}");
    }
    let got = rpc(&app, None, "tasks/pushNotificationConfig/get", json!({"id": task})).await;
    assert_eq!(got["result"]["pushNotificationConfig"]["url"], HOOK, "{got}");
    let default = json!({"id": task, "pushNotificationConfigId": "default"});
    let named = rpc(&app, None, "tasks/pushNotificationConfig/get", default.clone()).await;
    assert_eq!(named, got, "the official kit calls the one setting that is nobody's");
    let (code, _) = error(
        &app,
        Some("1.0"),
        "GetTaskPushNotificationConfig",
        json!({"taskId": task, "id": "default"}),
    )
    .await;
    assert_eq!(code, -32001, "1.0 has no such name");
    let list = rpc(&app, None, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(list["result"].as_array().unwrap().len(), 1, "{list}");
    // The same name deletes it.
    let removed = rpc(&app, None, "tasks/pushNotificationConfig/delete", default).await;
    assert_eq!(removed["result"], Value::Null);
    let (code, _) =
        error(&app, None, "tasks/pushNotificationConfig/get", json!({"id": task})).await;
    assert_eq!(code, -32001);
}

#[tokio::test]
async fn mistakes_are_reported_with_their_field() {
    let app = app().await;
    let task = task(&app).await;
    let create = "CreateTaskPushNotificationConfig";
    let message = json!({"messageId": "m-9", "role": "ROLE_USER", "parts": [{"text": "end"}]});
    for (version, method, params, code, expected) in [
        (
            Some("1.0"),
            create,
            json!({"url": HOOK}),
            -32602,
            "taskId: expected the id of a task, found nothing",
        ),
        (
            Some("1.0"),
            create,
            json!({"taskId": task}),
            -32602,
            "url: expected a string, found nothing",
        ),
        (
            Some("1.0"),
            create,
            json!({"taskId": task, "url": "http://client.example/"}),
            -32602,
            "url: expected https, found http",
        ),
        (
            Some("1.0"),
            create,
            json!({"taskId": task, "url": HOOK, "token": "a\nb"}),
            -32602,
            "token: expected visible ASCII characters, found others",
        ),
        (
            None,
            "tasks/pushNotificationConfig/set",
            json!({"taskId": task, "pushNotificationConfig": {"url": "https://10.0.0.1/"}}),
            -32602,
            "pushNotificationConfig.url: expected a host on the public internet",
        ),
        (
            Some("1.0"),
            "SendMessage",
            json!({"message": message, "configuration": {"taskPushNotificationConfig": {"url": "x"}}}),
            -32602,
            "configuration.taskPushNotificationConfig.url: expected an absolute URL",
        ),
        (
            Some("1.0"),
            "ListTaskPushNotificationConfigs",
            json!({"taskId": task, "pageSize": -1}),
            -32602,
            "pageSize: expected a number from 1 to 100, found -1",
        ),
        (
            Some("1.0"),
            create,
            json!({"taskId": "none", "url": HOOK}),
            -32001,
            "task none not found",
        ),
    ] {
        let (found, said) = error(&app, version, method, params).await;
        assert_eq!(found, code, "{said}");
        assert!(said.starts_with(expected), "{said}");
    }
    let list = call(
        &app,
        "ListTaskPushNotificationConfigs",
        // As the Java SDK writes it.
        json!({"taskId": task, "pageSize": 0, "pageToken": "", "tenant": ""}),
    )
    .await;
    assert_eq!(list["configs"], json!([]));
}

#[tokio::test]
async fn a_message_whose_setting_would_be_one_too_many_is_not_logged() {
    let store = Arc::new(MemoryStore::new());
    let app = app_with(store, PushSettings { per_task: 1, ..loopback() }).await;
    let task = task(&app).await;
    let first = json!({"taskId": task, "id": "a", "url": HOOK});
    call(&app, "CreateTaskPushNotificationConfig", first).await;
    let mut params = say("m-2", "hello", &json!({"id": "b", "url": HOOK}));
    params["message"]["taskId"] = task.as_str().into();
    let (code, said) = error(&app, Some("1.0"), "SendMessage", params).await;
    assert_eq!(code, -32004, "{said}");
    let found = call(&app, "GetTask", json!({ "id": task })).await;
    assert!(!found.to_string().contains("m-2"), "{found}");
}

/// Another's task, another agent's, and one that never was are all the same.
#[tokio::test]
async fn nobody_learns_of_anothers_settings() {
    let app = app().await;
    let as_caller = |name: &str| app.clone().layer(Extension(Caller::new(name)));
    let (me, you) = (as_caller("me"), as_caller("you"));
    let task = task(&me).await;
    call(&me, "CreateTaskPushNotificationConfig", json!({"taskId": task, "id": "a", "url": HOOK}))
        .await;
    for (method, params) in [
        ("CreateTaskPushNotificationConfig", json!({"id": "a", "url": "https://evil.example/"})),
        ("GetTaskPushNotificationConfig", json!({"id": "a"})),
        ("ListTaskPushNotificationConfigs", json!({})),
        ("DeleteTaskPushNotificationConfig", json!({"id": "a"})),
    ] {
        let with = |task: &str| {
            let mut params = params.clone();
            params["taskId"] = task.into();
            params
        };
        let (code, said) = error(&you, Some("1.0"), method, with(&task)).await;
        let never = error(&you, Some("1.0"), method, with("never")).await;
        assert_eq!((code, said.replace(&task, "never")), never, "{method}");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": with(&task)});
        let other = crate::app::post(&me, "/a2a/other", &[("a2a-version", "1.0")], &body).await;
        let other: Value = serde_json::from_str(&crate::app::text(other).await).unwrap();
        assert_eq!(other["error"]["code"], -32001, "{method} of another agent");
    }
    let list = call(&me, "ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    assert_eq!(list["configs"][0]["url"], HOOK);
}
