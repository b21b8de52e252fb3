//! Recordings of bots on four SDKs are played back, each by a stand-in that makes the recorded calls and gives the
//! recorded answer. `snapshots/wire/bots/README.md` describes them.

use std::{fs, path::Path};

use axum::{body::Body, http::Response, response::IntoResponse as _};
use bridge::bot::remote::{Delivery, RemoteSettings};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    World, quick,
    standin::{Post, StandIn},
};

/// The messages between a channel and a bot.
#[derive(Clone)]
struct Recording {
    /// The channel's request.
    request: Value,
    /// The bot's calls.
    callbacks: Vec<Value>,
    /// The bot's answer.
    answer: String,
}

#[test]
fn recorded_bots_are_understood() {
    insta::glob!("../../../../snapshots/wire/bots", "*.request.json", |path| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let task = runtime.block_on(play(Recording::read(path)));
        insta::assert_json_snapshot!(task);
    });
}

async fn play(recording: Recording) -> Value {
    let wanted = recording.request.clone();
    let settings = settings(&wanted);
    let message = message(&wanted);
    let kind = wanted["type"].clone();
    let bot = StandIn::that(move |post| {
        let recording = recording.clone();
        async move {
            match post.activity["type"] == recording.request["type"] {
                true => recording.play(&post).await,
                false => StatusCode::OK.into_response(),
            }
        }
    })
    .await;
    let world = World::of(&bot, settings).await;
    let task = world.send("bot", message).await;
    let posts = bot.posts();
    let post = posts.iter().find(|post| post.activity["type"] == kind);
    check(&wanted, &post.unwrap().activity);
    redacted(&task, &bot.url)
}

/// Returns the settings with which the bridge posts the recorded requests.
fn settings(wanted: &Value) -> RemoteSettings {
    RemoteSettings {
        delivery: match wanted["deliveryMode"].as_str() {
            Some("expectReplies") => Delivery::ExpectReplies,
            Some("stream") => Delivery::Stream,
            _ => Delivery::Auto,
        },
        channel_id: wanted["channelId"].as_str().unwrap().into(),
        locale: wanted["locale"].as_str().unwrap_or("en-US").into(),
        first_contact: wanted["type"] == "conversationUpdate",
        ..quick()
    }
}

/// Returns the message for which the bridge posts the recorded requests.
fn message(wanted: &Value) -> Value {
    let part = match wanted["type"].as_str() {
        Some("invoke") => json!({
            "data": wanted["value"],
            "metadata": {"urn:activity:invoke": {"name": wanted["name"]}},
        }),
        _ => json!({"text": wanted["text"].as_str().unwrap_or("hi")}),
    };
    json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [part]})
}

/// Checks that the bridge posts all fields that the recorded channel posted.
fn check(wanted: &Value, posted: &Value) {
    // Only messages have text, and therefore a text format.
    let is_message = wanted["type"] == "message";
    let fields = wanted.as_object().unwrap().iter();
    for (name, value) in fields.filter(|(name, _)| is_message || *name != "textFormat") {
        assert!(!posted[name].is_null(), "{name} is missing in {posted}");
        if ["type", "text", "name", "value", "channelId", "locale", "deliveryMode"]
            .contains(&name.as_str())
        {
            assert_eq!(posted[name], *value, "{name}");
        }
    }
}

impl Recording {
    fn read(request: &Path) -> Self {
        let beside = |ending: &str| {
            let name = request.to_str().unwrap().replace("request.json", ending);
            fs::read_to_string(name).unwrap()
        };
        let callbacks = beside("callbacks.jsonl");
        let lines = callbacks.lines().map(serde_json::from_str);
        Self {
            request: serde_json::from_str(&beside("request.json")).unwrap(),
            callbacks: lines.collect::<Result<_, _>>().unwrap(),
            answer: beside("http.txt"),
        }
    }

    async fn play(&self, post: &Post) -> axum::response::Response {
        for callback in &self.callbacks {
            let body = self.here(&callback["body"], &post.activity);
            let path = callback["path"].as_str().unwrap();
            let path = path.strip_prefix("/v3").unwrap();
            let named = |value: &Value| value.as_str().unwrap().to_owned();
            let path = path
                .replace(&named(&self.request["conversation"]["id"]), post.conversation())
                .replace(&named(&self.request["id"]), post.id());
            let method = callback["method"].as_str().unwrap();
            let (status, answered) = post.call(method, &post.route(&path), &body).await;
            assert_eq!(status, callback["answered"]["status"], "{answered}");
            assert!(answered["id"].is_string());
        }
        self.answer(post)
    }

    fn answer(&self, post: &Post) -> axum::response::Response {
        let (head, body) = self
            .answer
            .split_once("\n\n")
            .or_else(|| self.answer.split_once("\r\n\r\n"))
            .unwrap_or((&self.answer, ""));
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        let kind = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-type").then_some(value.trim())
        });
        let body = match serde_json::from_str::<Value>(body) {
            Ok(json) => self.here(&json, &post.activity).to_string(),
            Err(_) => body.to_owned(),
        };
        let mut answer = Response::builder().status(status);
        if let Some(kind) = kind {
            answer = answer.header("content-type", kind);
        }
        answer.body(Body::from(body)).unwrap()
    }

    /// Returns a recorded activity with this conversation and these accounts.
    fn here(&self, said: &Value, posted: &Value) -> Value {
        for name in ["from", "recipient", "conversation", "id", "serviceUrl"] {
            if *said == self.request[name] {
                return posted[name].clone();
            }
        }
        match said {
            Value::Array(items) => items.iter().map(|item| self.here(item, posted)).collect(),
            Value::Object(members) => {
                let here =
                    |(name, value): (&String, &Value)| (name.clone(), self.here(value, posted));
                Value::Object(members.iter().map(here).collect())
            }
            plain => plain.clone(),
        }
    }
}

/// Returns the task with stable names for values that are new each time, and without the bytes of files.
fn redacted(task: &Value, bot: &str) -> Value {
    let id = |field: &str| task[field].as_str().unwrap().to_owned();
    let names = [(id("id"), "TASK"), (id("contextId"), "CONTEXT"), (bot.to_owned(), "BOT")];
    walk(task, &names)
}

fn walk(value: &Value, names: &[(String, &str)]) -> Value {
    match value {
        Value::String(text) => {
            let named = |text: String, (id, name): &(String, &str)| text.replace(id, name);
            names.iter().fold(text.clone(), named).into()
        }
        Value::Array(items) => items.iter().map(|item| walk(item, names)).collect(),
        Value::Object(members) => {
            let one = |(name, value): (&String, &Value)| {
                let value = match (name.as_str(), value) {
                    ("timestamp", _) => "TIME".into(),
                    ("raw", Value::String(raw)) => format!("{} characters", raw.len()).into(),
                    (_, other) => walk(other, names),
                };
                (name.clone(), value)
            };
            Value::Object(members.iter().map(one).collect())
        }
        plain => plain.clone(),
    }
}
