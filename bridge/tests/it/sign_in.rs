//! A bot that has its users sign in by the SDK's own prompt, and what a client sends back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    bots::on_node,
    client::Client,
    program::{Bridge, run},
    terminal::bridge,
};

/// The time limit of an examination of a bot.
const LIMIT: Duration = Duration::from_secs(300);

/// A client in the middle of one task.
struct Talk {
    client: Client,
    name: &'static str,
    task: Value,
    said: usize,
}

impl Talk {
    async fn begin(bridge: &Bridge, name: &'static str) -> Self {
        let mut talk = Self { client: Client::of(bridge.url()), name, task: Value::Null, said: 0 };
        talk.say(json!({"text": "hi"})).await;
        talk
    }

    async fn say(&mut self, part: Value) -> &Value {
        self.said += 1;
        let id = format!("{}-{}", self.name, self.said);
        let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [part]});
        if !self.task.is_null() {
            message["taskId"] = self.task["id"].clone();
        }
        let params = json!({ "message": message });
        let answer = self.client.call("bot", "SendMessage", &params).await;
        self.task = answer.unwrap()["result"]["task"].take();
        &self.task
    }

    async fn invoke(&mut self, name: &str, value: Value) -> &Value {
        let mark = json!({"urn:activity:invoke": {"name": name}});
        self.say(json!({"data": value, "metadata": mark})).await
    }

    /// Checks that the user is still asked to sign in, with all that this needs.
    fn asks(&self) {
        let status = &self.task["status"];
        assert_eq!(status["state"], "TASK_STATE_AUTH_REQUIRED", "{status}");
        let parts = status["message"]["parts"].as_array().unwrap();
        let text = parts[0]["text"].as_str().unwrap();
        assert!(text.ends_with("https://login.example/sign-in?state=1"), "{text}");
        assert_eq!(parts[1]["mediaType"], "application/vnd.microsoft.card.oauth");
        let card = &parts[1]["data"];
        assert_eq!(card["connectionName"], "directory");
        assert_eq!(card["tokenExchangeResource"]["uri"], "api://directory");
    }

    fn is_welcome(&self) {
        let task = self.task.to_string();
        assert_ne!(self.task["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
        assert!(task.contains("Welcome, t-1"), "{task}");
    }

    /// Returns the bot's answer to the last invoke.
    fn responded(&self) -> &Value {
        &self.task["metadata"]["urn:activity:event"]["value"]["status"]
    }
}

#[tokio::test]
async fn a_user_signs_in() {
    let bot = on_node("sign_in.js", &[]).await;
    let url = format!("bot={}/api/messages", bot.url());
    let bridge = Bridge::serve(&["--store", "memory", "--bot", &url]);
    let place = format!("{}/api/messages", bot.url());
    let (_, told) = run(&mut self::bridge(&["doctor", &place, "--say", "hi"]), LIMIT).await;
    assert!(told.contains("asks its users to sign in"), "{told}");

    let exchange =
        |token: &str| json!({"id": "x-1", "connectionName": "directory", "token": token});

    let mut talk = Talk::begin(&bridge, "token").await;
    talk.asks();
    talk.say(json!({"text": "000000"})).await;
    talk.asks();
    talk.invoke("signin/tokenExchange", exchange("bad")).await;
    talk.asks();
    assert_eq!(talk.responded(), 412);
    talk.invoke("signin/tokenExchange", exchange("good")).await;
    talk.is_welcome();
    assert_eq!(talk.responded(), 200);

    let mut talk = Talk::begin(&bridge, "invoked code").await;
    talk.invoke("signin/verifyState", json!({"state": "000000"})).await;
    talk.asks();
    talk.invoke("signin/verifyState", json!({"state": "123456"})).await;
    talk.is_welcome();

    let mut talk = Talk::begin(&bridge, "typed code").await;
    talk.say(json!({"text": "123456"})).await;
    talk.is_welcome();
}

#[tokio::test]
async fn a_user_signs_in_to_a_bot_that_answers_before_it_goes_on() {
    let bot = on_node("sign_in_agents.js", &[]).await;
    let url = format!("{}/api/messages", bot.url());
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    // The bot goes on within the default two seconds, except on a slow machine.
    let text = format!("[[agents]]\nname = 'bot'\nbot = '{url}'\nending.quiet = '10s'\n");
    std::fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let bridge = Bridge::serve(&["--store", "memory", "--config", config]);

    let mut talk = Talk::begin(&bridge, "token").await;
    talk.asks();
    let token = json!({"id": "x-1", "connectionName": "directory", "token": "good"});
    talk.invoke("signin/tokenExchange", token).await;
    talk.is_welcome();

    let mut talk = Talk::begin(&bridge, "typed code").await;
    talk.asks();
    talk.say(json!({"text": "123456"})).await;
    talk.is_welcome();
}
