//! Unmodified bots that are asked for replies in their answers: by callers that wait, and by callers that watch.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    routing::post,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    bots::{AGENTS_SDK, on_node},
    client::Client,
    program::{Bridge, run},
    terminal::bridge,
};

/// The time limit of the doctor.
const LIMIT: Duration = Duration::from_secs(120);

/// Stands before a bot and notes how it is asked to answer.
#[derive(Clone)]
struct Gate {
    bot: String,
    modes: Arc<Mutex<Vec<Value>>>,
}

impl Gate {
    /// Returns the address of a proxy in front of the bot, and the proxy's records.
    async fn before(bot: &Bridge) -> (String, Arc<Mutex<Vec<Value>>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/api/messages", listener.local_addr().unwrap());
        let modes = Arc::default();
        let gate = Self { bot: format!("{}/api/messages", bot.url()), modes: Arc::clone(&modes) };
        let app = Router::new().route("/api/messages", post(Self::pass)).with_state(gate);
        tokio::spawn(async move { axum::serve(listener, app).await });
        (url, modes)
    }

    async fn pass(State(gate): State<Self>, body: Bytes) -> (StatusCode, Bytes) {
        let activity: Value = serde_json::from_slice(&body).unwrap();
        gate.modes.lock().unwrap().push(activity["deliveryMode"].clone());
        let request = reqwest::Client::new().post(&gate.bot).body(body);
        let request = request.header(CONTENT_TYPE, "application/json");
        let answer = request.send().await.unwrap();
        let status = StatusCode::from_u16(answer.status().as_u16()).unwrap();
        (status, answer.bytes().await.unwrap())
    }
}

#[tokio::test]
async fn waiting_clients_get_the_reply_and_streams_get_each_message() {
    for (bot, streams) in
        [(AGENTS_SDK.start().await, true), (on_node("bot_framework.js", &[]).await, false)]
    {
        let (url, modes) = Gate::before(&bot).await;
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("bridge.toml");
        let agent = format!("name = 'bot'\nbot = '{url}'\ndelivery = 'expectReplies'");
        std::fs::write(&config, format!("store = 'memory'\n[[agents]]\n{agent}\n")).unwrap();
        let served = Bridge::serve(&["--config", config.to_str().unwrap()]);
        let client = Client::of(served.url());
        let answer = client.call("bot", "SendMessage", &said("hello")).await;
        let task = &answer.unwrap()["result"]["task"];
        let text = &task["artifacts"][0]["parts"][0]["text"];
        assert_eq!(text, "Echo: hello");
        let shown = watched(&served, if streams { "stream" } else { "hello" }).await;
        assert_eq!(shown.matches("artifactUpdate").count() > 1, streams, "{shown}");
        assert_eq!(*modes.lock().unwrap(), [json!("expectReplies"), Value::Null]);
    }
}

#[tokio::test]
async fn doctor_suggests_it_for_bots_that_can() {
    for (bot, can) in [
        (AGENTS_SDK.start().await, true),
        (on_node("bot_framework.js", &[]).await, true),
        (crate::bots::BOT_FRAMEWORK.start().await, false),
    ] {
        let url = format!("{}/api/messages", bot.url());
        let mut doctor = bridge(&["doctor", &url]);
        let (well, told) = run(&mut doctor, LIMIT).await;
        assert!(well, "{told}");
        let suggests = told.contains("# delivery = \"expectReplies\" works too");
        assert_eq!(suggests, can, "{told}");
    }
}

fn said(text: &str) -> Value {
    let parts = json!([{ "text": text }]);
    json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": parts}})
}

/// Returns the events of a stream, as text. Its message has another id than what was said before.
async fn watched(served: &Bridge, text: &str) -> String {
    let mut params = said(text);
    params["message"]["messageId"] = json!("watched");
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params});
    let request = reqwest::Client::new().post(format!("{}/a2a/bot", served.url()));
    let request = request.header("a2a-version", "1.0").json(&body);
    request.send().await.unwrap().text().await.unwrap()
}
