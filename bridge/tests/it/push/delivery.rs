//! Tests the content, form and order of deliveries, for all reactions of webhooks.

use std::{sync::Arc, time::Duration};

use bridge::{push::PushSettings, store::MemoryStore};
use serde_json::json;

use super::{
    app, app_with, call, loopback,
    receiver::{Answer, Delivery, Receiver},
    say, until,
};
use crate::app::{get, rpc, text};

fn states(got: &[Delivery]) -> Vec<String> {
    got.iter().filter_map(Delivery::state).collect()
}

#[tokio::test]
async fn a_setting_that_comes_with_a_message_misses_nothing() {
    let (app, receiver) = (app().await, Receiver::start().await);
    let config = json!({
        "url": receiver.at("/hook"), "token": "t-1",
        "authentication": {"scheme": "Bearer", "credentials": "secret"},
    });
    let sent = call(&app, "SendMessage", say("m-1", "begin and end", &config)).await;
    let got = receiver.wait_for_end("/hook").await;
    assert_eq!(states(&got), ["TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    let task = sent["task"]["id"].as_str().unwrap();
    assert_eq!(got[2].body["artifactUpdate"]["artifact"]["artifactId"], "begun");
    let mut events = Vec::new();
    for one in &got {
        let (_, update) = one.body.as_object().unwrap().iter().next().unwrap();
        assert_eq!((one.body.as_object().unwrap().len(), &update["taskId"]), (1, &json!(task)));
        for (name, expected) in [
            ("content-type", "application/a2a+json"),
            ("a2a-version", "1.0"),
            ("authorization", "Bearer secret"),
            ("x-a2a-notification-token", "t-1"),
        ] {
            assert_eq!(one.headers[name], expected);
        }
        assert!(!one.headers.contains_key("x-a2a-notification-signature"));
        events.push(one.headers["idempotency-key"].clone());
    }
    let mut sorted = events.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(events, sorted, "each event once, in order");

    // A message that comes again has nothing delivered again.
    call(&app, "SendMessage", say("m-1", "begin and end", &config)).await;
    let list = call(&app, "ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    assert_eq!(list["configs"].as_array().unwrap().len(), 1, "{list}");
    let again = json!({"url": receiver.at("/other")});
    call(&app, "SendMessage", say("m-2", "end", &again)).await;
    receiver.wait_for_end("/other").await;
    assert_eq!(receiver.got("/hook").len(), got.len());
}

#[tokio::test]
async fn a_streaming_message_may_bring_one_too() {
    let (app, receiver) = (app().await, Receiver::start().await);
    let config = json!({"url": receiver.at("/hook")});
    let said = say("m-1", "end", &config);
    crate::app::events(&app, Some("1.0"), "SendStreamingMessage", said).await;
    assert_eq!(receiver.wait_for_end("/hook").await.len(), 3);
}

#[tokio::test]
async fn failed_deliveries_are_retried_in_order() {
    let (app, receiver) = (app().await, Receiver::start().await);
    for (path, answers) in [
        ("/busy", &[Answer::Status(503), Answer::Status(404)][..]),
        ("/moved", &[Answer::Redirect]),
    ] {
        receiver.answer(path, answers);
        let config = json!({"url": receiver.at(path)});
        call(&app, "SendMessage", say(&format!("m{path}"), "end", &config)).await;
        let got = receiver.wait_for_end(path).await;
        let keys: Vec<_> = got.iter().map(|one| &one.headers["idempotency-key"]).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(got.len(), answers.len() + 3, "{path}: {keys:?}");
    }
    assert!(receiver.got("/elsewhere").is_empty(), "a redirect was followed");
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_asked_again() {
    let settings = PushSettings { timeout: Duration::from_millis(500), ..loopback() };
    let app = app_with(Arc::new(MemoryStore::new()), settings).await;
    let receiver = Receiver::start().await;
    receiver.answer("/silent", &[Answer::Silence]);
    let config = json!({"url": receiver.at("/silent")});
    call(&app, "SendMessage", say("m-1", "end", &config)).await;
    let got = receiver.wait_for_end("/silent").await;
    let first =
        |one: &&Delivery| one.headers["idempotency-key"] == got[0].headers["idempotency-key"];
    assert!(got.iter().filter(first).count() > 1, "{got:?}");
}

#[tokio::test]
async fn given_up_deliveries_are_counted_and_retried_by_their_owner() {
    let (app, receiver) = (app().await, Receiver::start().await);
    receiver.answer("/gone", &[Answer::Status(410)]);
    receiver.answer("/broken", &[Answer::Status(500); 3]);
    let mut tasks = Vec::new();
    for path in ["/gone", "/broken"] {
        let config = json!({"id": "hook", "url": receiver.at(path)});
        let sent = call(&app, "SendMessage", say(&format!("m{path}"), "end", &config)).await;
        tasks.push((path, sent["task"]["id"].clone(), config));
    }
    receiver.wait("/broken", |got| got.len() == 3).await;
    let given_up = r#"bridge_push_settings_given_up{agent="agent"} 2"#;
    until(async || text(get(&app, "/metrics", None).await).await.contains(given_up)).await;
    for (path, task, mut config) in tasks {
        config["taskId"] = task;
        call(&app, "CreateTaskPushNotificationConfig", config).await;
        receiver.wait_for_end(path).await;
    }
}

#[tokio::test]
async fn each_version_gets_what_it_reads() {
    let (app, receiver) = (app().await, Receiver::start().await);
    let part = json!([{"kind": "text", "text": "end"}]);
    let message = json!({"kind": "message", "messageId": "m-3", "role": "user", "parts": part});
    let authentication = json!({"schemes": ["Basic"], "credentials": "me:word"});
    let config = json!({"url": receiver.at("/v0_3"), "authentication": authentication});
    let configuration = json!({"blocking": true, "pushNotificationConfig": config});
    let params = json!({"message": message, "configuration": configuration});
    let answer = rpc(&app, None, "message/send", params).await;
    let got = receiver.wait_for_end("/v0_3").await;
    let last = got.last().unwrap();
    assert_eq!(last.body, answer["result"], "the task as it stands");
    assert_eq!(last.headers["content-type"], "application/json");
    assert_eq!(last.headers["authorization"], "Basic bWU6d29yZA==");

    let message = json!({"role": "user", "parts": [{"type": "text", "text": "end"}]});
    let config = json!({"url": receiver.at("/v0_1")});
    let params = json!({"id": "my-own", "message": message, "pushNotification": config});
    rpc(&app, None, "tasks/send", params).await;
    let got = receiver.wait_for_end("/v0_1").await;
    assert!(got.iter().all(|one| one.body["id"] == "my-own"), "{got:?}");
    let set = rpc(&app, None, "tasks/pushNotification/get", json!({"id": "my-own"})).await;
    assert_eq!(set["result"]["id"], "my-own", "{set}");
    assert_eq!(set["result"]["pushNotificationConfig"]["url"], receiver.at("/v0_1"));
}

#[tokio::test]
async fn a_name_of_this_machine_is_refused_when_the_connection_is_made() {
    let receiver = Receiver::start().await;
    let mut settings =
        PushSettings { allowed: bridge::push::AllowedTargets::default(), ..loopback() };
    settings.allowed.plain_http = true;
    let app = app_with(Arc::new(MemoryStore::new()), settings).await;
    for url in [receiver.at("/hook"), receiver.at("/hook").replace("127.0.0.1", "2130706433")] {
        let refused =
            rpc(&app, Some("1.0"), "SendMessage", say("m", "end", &json!({"url": url}))).await;
        let said = refused["error"]["message"].as_str().unwrap();
        let expected = "configuration.taskPushNotificationConfig.url: expected a host on the public \
                        internet, or one that the bridge's operator allows, found 127.0.0.1";
        assert_eq!(said, expected);
    }
    let listed = call(&app, "ListTasks", json!({})).await;
    assert_eq!(listed["totalSize"], 0, "what was refused has changed nothing");
}
