//! Tests agents that answer with bare messages, in every version.

use std::sync::Arc;

use axum::{Json, Router, routing::post};
use bridge::{
    agent::{AnswerKind, TurnSettings},
    bot::{BotExecutor, BotSettings, Sample},
    host::Host,
    store::MemoryStore,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    app::{app_with, events, rpc, say},
    client::Client,
    program::Bridge,
    world::{self, me, stream, told, world_with},
};

fn in_messages() -> TurnSettings {
    TurnSettings { answers: AnswerKind::Messages, ..TurnSettings::default() }
}

fn old(id: &str, text: &str) -> Value {
    let part = json!({"kind": "text", "text": text});
    json!({"message": {"kind": "message", "messageId": id, "role": "user", "parts": [part]}})
}

#[tokio::test]
async fn a_waiting_send_answers_with_the_message_and_does_so_again() {
    let app = app_with(in_messages()).await;
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let message = &answer["result"]["message"];
    assert_eq!(message["parts"], json!([{"text": "You said: hi"}]));
    assert_eq!(message["role"], "ROLE_AGENT");
    assert!(message["contextId"].is_string() && message.get("taskId").is_none());
    let again = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    assert_eq!(again, answer);
    let list = rpc(&app, Some("1.0"), "ListTasks", json!({})).await;
    let tasks = &list["result"]["tasks"];
    assert_eq!(tasks.as_array().unwrap().len(), 1);
    assert_eq!(tasks[0]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(tasks[0]["contextId"], message["contextId"]);
}

#[tokio::test]
async fn a_message_does_not_repeat_the_metadata_of_its_request() {
    let app = app_with(in_messages()).await;
    let mut request = say("m-1", "hi");
    request["metadata"] = json!({"purpose": "greeting"});
    let answer = rpc(&app, Some("1.0"), "SendMessage", request).await;
    let message = &answer["result"]["message"];
    assert_eq!(message["parts"], json!([{"text": "You said: hi"}]));
    assert_eq!(message.get("metadata"), None);
}

#[tokio::test]
async fn older_versions_get_what_they_know_of() {
    let app = app_with(in_messages()).await;
    let answer = rpc(&app, None, "message/send", old("m-1", "hi")).await;
    assert_eq!(answer["result"]["kind"], "message");
    assert_eq!(answer["result"]["parts"][0]["text"], "You said: hi");
    // 0.1 has no answer but a task, with or without an id of its client's.
    for id in [Some("mine"), None] {
        let message = json!({"role": "user", "parts": [{"type": "text", "text": "hi"}]});
        let answer = rpc(&app, None, "tasks/send", json!({"id": id, "message": message})).await;
        let result = &answer["result"];
        assert_eq!(result["status"]["state"], "completed", "{answer}");
        let got = rpc(&app, Some("0.1"), "tasks/get", json!({"id": result["id"]})).await;
        assert_eq!(got["result"]["status"], result["status"], "{got}");
    }
}

#[tokio::test]
async fn a_stream_is_the_one_message() {
    let app = app_with(in_messages()).await;
    let items = events(&app, Some("1.0"), "SendStreamingMessage", say("m-1", "hi")).await;
    assert_eq!(items.len(), 1);
    let message = &items[0]["result"]["message"];
    assert_eq!(message["parts"], json!([{"text": "You said: hi"}]));
    let items = events(&app, None, "message/stream", old("m-1", "hi")).await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["result"]["kind"], "message");
    assert_eq!(items[0]["result"]["messageId"], message["messageId"]);
}

#[tokio::test]
async fn a_client_that_does_not_wait_gets_the_task() {
    let app = app_with(in_messages()).await;
    let mut request = say("m-1", "hi");
    request["configuration"] = json!({"returnImmediately": true});
    let answer = rpc(&app, Some("1.0"), "SendMessage", request).await;
    assert!(answer["result"]["task"]["id"].is_string());
}

#[tokio::test(start_paused = true)]
async fn several_messages_are_answered_as_a_task() {
    for (text, second) in [
        ("ask", "input-required: done with ask"),
        ("begin and ask", "artifact begun: a first piece"),
        ("begin and hang", "artifact begun: a first piece"),
    ] {
        let world = world_with(Arc::new(MemoryStore::new()), in_messages());
        let told = told(stream(&world, world::say(text, None)).await).await;
        let begin = ["task working", "working: I am at it.", second];
        assert_eq!(told[..3], begin, "{text}");
        let request = world::say(text, None);
        let answer = world.service.send_message(&me(), request).await.unwrap();
        assert!(serde_json::to_value(answer).unwrap()["task"].is_object());
    }
}

#[tokio::test]
async fn a_bot_that_ends_the_conversation_with_one_message_answers_with_it() {
    let settings = BotSettings { answers: AnswerKind::Messages, ..BotSettings::new("sample") };
    let store = Arc::new(MemoryStore::new());
    let agent = BotExecutor::new(Arc::new(Sample), store.clone(), settings).into_agent();
    let host = Host::new(store, [agent]);
    let app = host.router("http://localhost:3978").await.unwrap();
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    let message = &answer["result"]["message"];
    assert_eq!(message["parts"][0]["text"], "You said: hi", "{answer}");
    let end = &message["metadata"]["urn:activity:event"];
    assert_eq!(end["type"], "endOfConversation", "{answer}");
    let answer = rpc(&app, Some("1.0"), "SendMessage", say("m-2", "-multi")).await;
    let task = &answer["result"]["task"];
    let mut last = say("m-3", "end");
    last["message"]["taskId"] = task["id"].clone();
    last["message"]["contextId"] = task["contextId"].clone();
    let answer = rpc(&app, Some("1.0"), "SendMessage", last).await;
    let status = &answer["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_COMPLETED", "{answer}");
    let parts = status["message"]["parts"].as_array().unwrap();
    assert!(parts[0]["data"]["history"].is_array(), "{answer}");
    assert_eq!(parts[1]["text"], "\nAll done.", "{answer}");
    let items = events(&app, Some("1.0"), "SendStreamingMessage", say("m-4", "-stream")).await;
    let status = &items.last().unwrap()["result"]["statusUpdate"]["status"];
    let text = status["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("A task is a log of what was said"), "{status}");
    let pieces = items.iter().filter(|item| item["result"]["artifactUpdate"].is_object());
    assert!(pieces.count() > 1);
}

/// Answers in the HTTP answer, each word with a message, and says nothing of the end.
async fn on_activity(Json(activity): Json<Value>) -> Json<Value> {
    let words = activity["text"].as_str().unwrap_or_default().split(' ');
    let messages = words.map(|word| json!({"type": "message", "text": format!("Echo: {word}")}));
    Json(json!({"activities": messages.collect::<Vec<_>>()}))
}

#[tokio::test]
async fn the_configuration_says_so_for_running_bots_and_those_that_come_along() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bot = format!("http://{}/api/messages", listener.local_addr().unwrap());
    let app = Router::new().route("/api/messages", post(on_activity));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let running = format!("bot = '{bot}'\ndelivery = 'expectReplies'\nsilent_end = 'completed'");
    let config = format!(
        "store = 'memory'\n\
         [[agents]]\nname = 'running'\n{running}\nmessage_only = true\n\
         [[agents]]\nname = 'plain'\n{running}\n\
         [[agents]]\nname = 'sample'\nbuiltin = 'sample'\nmessage_only = true\n"
    );
    std::fs::write(&file, config).unwrap();
    let bridge = Bridge::serve(&["--config", file.to_str().unwrap()]);
    let client = Client::of(bridge.url());
    for (agent, pointer, expected) in [
        ("running", "/result/message/parts/0/text", "Echo: hi"),
        ("sample", "/result/message/parts/0/text", "You said: hi"),
        ("plain", "/result/task/status/state", "TASK_STATE_COMPLETED"),
    ] {
        let answer = client.call(agent, "SendMessage", &say(agent, "hi")).await;
        let answer = answer.unwrap();
        assert_eq!(answer.pointer(pointer), Some(&json!(expected)), "{answer}");
    }
    let answer = client.call("running", "SendMessage", &say("two", "a b")).await.unwrap();
    let task = &answer["result"]["task"];
    let parts = json!([{"text": "Echo: a"}, {"text": "\nEcho: b"}]);
    assert_eq!(task["status"]["message"]["parts"], parts, "{answer}");
    assert_eq!(task["artifacts"].as_array().unwrap().len(), 2, "{answer}");
    let answer = client.call("plain", "SendMessage", &say("two", "a b")).await.unwrap();
    assert_eq!(answer["result"]["task"]["status"].get("message"), None, "{answer}");
}
