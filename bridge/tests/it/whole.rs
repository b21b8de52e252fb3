//! Tests the extension for whole activities, between a client that knows activities and a bot.

use std::sync::Arc;

use axum::Router;
use bridge::{
    bot::{Bot, BotError, BotExecutor, BotSettings, TurnContext, async_trait},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::{activity::Activity, wire::to_value};
use bridge_translate::full_activity::EXTENSION;
use serde_json::{Value, json};

use crate::app::{post, rpc, say, text};

/// Answers with what it got, as a value, and speaks.
struct Mirror;

#[async_trait]
impl Bot for Mirror {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        let seen = to_value(turn.activity());
        turn.send_activity(Activity {
            speak: Some("aloud".into()),
            value: Some(seen),
            ..Activity::message("seen")
        })
        .await?;
        Ok(())
    }
}

async fn app() -> Router {
    let store = Arc::new(MemoryStore::new());
    let settings = BotSettings::new("mirror");
    let agent = BotExecutor::new(Arc::new(Mirror), store.clone(), settings).into_agent();
    let host = Host::new(store, [agent]);
    host.router("http://localhost:3978").await.unwrap()
}

/// Returns the bot's message in answer to a request, and the header that names what is in use.
async fn ask(headers: &[(&str, &str)], request: &Value) -> (Value, Option<String>) {
    let response = post(&app().await, "/a2a/message:send", headers, request).await;
    let active = response.headers().get("a2a-extensions");
    let active = active.map(|value| value.to_str().unwrap().to_owned());
    let answer: Value = serde_json::from_str(&text(response).await).unwrap();
    (answer["task"]["status"]["message"].clone(), active)
}

#[tokio::test]
async fn clients_of_the_extension_get_full_activities() {
    let (message, active) = ask(&[("a2a-extensions", EXTENSION)], &say("m-1", "hi")).await;
    assert_eq!(active.as_deref(), Some(EXTENSION));
    assert_eq!(message["extensions"], json!([EXTENSION]));
    let whole = &message["metadata"][EXTENSION];
    assert_eq!((&whole["speak"], &whole["value"]["text"]), (&json!("aloud"), &json!("hi")));
    assert!(whole.get("serviceUrl").is_none(), "{whole}");
    assert!(!whole.to_string().contains("urn:activity:in-process"), "{whole}");

    let (message, active) = ask(&[], &say("m-1", "hi")).await;
    assert_eq!((active, &message["metadata"][EXTENSION]), (None, &Value::Null));
}

#[tokio::test]
async fn a_client_that_knows_activities_says_them_whole() {
    let mut request = say("m-1", "Yes");
    request["message"]["extensions"] = json!([EXTENSION]);
    request["message"]["metadata"] = json!({EXTENSION: {
        "type": "event", "name": "pressed", "value": {"choice": 1}, "from": {"id": "mallory"},
    }});
    let (message, active) = ask(&[], &request).await;
    assert_eq!(active.as_deref(), Some(EXTENSION));
    let seen = &message["metadata"][EXTENSION]["value"];
    assert_eq!((&seen["type"], &seen["name"]), (&json!("event"), &json!("pressed")));
    assert_eq!(seen["value"], json!({"choice": 1}));
    assert_eq!(seen["from"]["id"], "unknown", "the caller is not the client's to say");
}

#[tokio::test]
async fn activities_of_channels_are_refused_with_their_field() {
    let mut request = say("m-1", "Yes");
    request["message"]["extensions"] = json!([EXTENSION]);
    request["message"]["metadata"] = json!({EXTENSION: {"type": "conversationUpdate"}});
    let answer = rpc(&app().await, Some("1.0"), "SendMessage", request).await;
    let violation = &answer["error"]["data"][1]["fieldViolations"][0];
    let field = format!("message.metadata.{EXTENSION}.type");
    assert_eq!(violation["field"], field, "{answer}");
}
