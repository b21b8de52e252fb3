//! Push notifications, delivered over sockets.

mod crash;
mod delivery;
mod leaving;
mod receiver;
mod sealed;
mod settings;
mod signed;

use std::{sync::Arc, time::Duration};

use axum::Router;
use bridge::{
    agent::{Agent, TurnSettings},
    host::Host,
    push::{AllowedTargets, PushSettings, RetrySettings},
    store::{MemoryStore, Store},
};
use bridge_protocol::a2a::AgentCard;
use serde_json::{Value, json};

use crate::{app::rpc, world::CommandAgent};

/// Returns an app whose agent follows the message's commands, and which may deliver to this machine.
async fn app() -> Router {
    app_with(Arc::new(MemoryStore::new()), loopback()).await
}

async fn app_with(store: Arc<dyn Store>, settings: PushSettings) -> Router {
    let agent = |name: &str| Agent {
        name: name.into(),
        card: AgentCard::named("Obedient", "Does what it is told."),
        executor: Arc::new(CommandAgent::default()),
        settings: TurnSettings::default(),
    };
    let host = Host::new(store, [agent("agent"), agent("other")]).push(Some(settings));
    host.router("http://localhost:3978").await.unwrap()
}

/// Deliveries to this machine. Receivers that answer have the time for it.
fn loopback() -> PushSettings {
    let mut allowed = AllowedTargets::default();
    allowed.allow("loopback").unwrap();
    PushSettings {
        allowed,
        timeout: Duration::from_secs(60),
        retry: RetrySettings {
            first: Duration::from_millis(10),
            attempts: 3,
            ..RetrySettings::default()
        },
        ..PushSettings::default()
    }
}

/// Returns a message with a setting, not waited for.
fn say(id: &str, text: &str, config: &Value) -> Value {
    json!({
        "message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]},
        "configuration": {"returnImmediately": true, "taskPushNotificationConfig": config},
    })
}

/// Returns the result of a call in 1.0.
async fn call(app: &Router, method: &str, params: Value) -> Value {
    let mut answer = rpc(app, Some("1.0"), method, params).await;
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    answer["result"].take()
}

/// Looks again and again until it is so, and not for ever.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    let came = tokio::time::timeout(Duration::from_secs(300), looking).await;
    came.expect("it comes to be so");
}
