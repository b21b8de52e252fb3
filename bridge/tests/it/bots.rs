//! Unmodified bots on public packages, talked to through the program. What they do stands in
//! `tests/interop/bots/`.

use std::{future::Future, path::PathBuf, process::Command, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{client::Client, program::Bridge, venv};

/// The Agents SDK for Python, and what it needs for bots without credentials.
const AGENTS_SDK: [&str; 2] = [
    "microsoft-agents-hosting-aiohttp==1.9.0",
    "microsoft-agents-authentication-msal==1.9.0",
];

/// A bot, and the bridge that it is behind.
struct World {
    client: Client,
    _bridge: Bridge,
    _bot: Bridge,
}

impl World {
    async fn python(bot: &str, packages: &[&str]) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/bots");
        let python = venv::with(packages).await.join("bin/python");
        let bot = Bridge::listening(Command::new(python).arg(PathBuf::from(folder).join(bot)));
        let choice = format!("bot={}/api/messages", bot.url());
        let bridge = Bridge::serve(&["--store", "memory", "--bot", &choice]);
        Self {
            client: Client::of(bridge.url()),
            _bridge: bridge,
            _bot: bot,
        }
    }

    /// Says something in a task, or in a new one.
    async fn say(&self, text: &str, task: Option<&Value>) -> Value {
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut message = json!({"messageId": format!("m-{number}"), "role": "ROLE_USER",
            "parts": [{"text": text}]});
        if let Some(task) = task {
            message["taskId"] = task["id"].clone();
        }
        let params = json!({ "message": message });
        let answer = self.client.call("bot", "SendMessage", &params).await;
        answer.expect("the bridge answers")["result"]["task"].clone()
    }

    async fn task(&self, task: &Value) -> Value {
        let params = json!({"id": task["id"]});
        let answer = self.client.call("bot", "GetTask", &params).await;
        answer.expect("the bridge answers")["result"].clone()
    }
}

static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// The state of a task, and what its status says.
fn stands(task: &Value) -> (&str, &str) {
    let said = &task["status"]["message"]["parts"][0]["text"];
    let state = task["status"]["state"].as_str().unwrap_or_default();
    (state, said.as_str().unwrap_or_default())
}

const WAITS: &str = "TASK_STATE_INPUT_REQUIRED";

#[tokio::test]
async fn the_agents_sdk_for_python_is_understood() {
    let world = World::python("agents_sdk.py", &AGENTS_SDK).await;
    let task = world.say("hello", None).await;
    assert_eq!(stands(&task), (WAITS, "Echo: hello"));
    for (text, expected) in [
        ("count", "1"),
        ("count", "2"),
        ("ask", "Which one?"),
        ("throw", "Exception caught : as I was told"),
        ("stream", "one two three"),
    ] {
        let task = world.say(text, Some(&task)).await;
        assert_eq!(stands(&task), (WAITS, expected), "{text}");
    }
    let card = world.say("card", Some(&task)).await;
    let part = &card["status"]["message"]["parts"][0];
    assert_eq!(part["mediaType"], "application/vnd.microsoft.card.hero");
    assert_eq!(part["data"]["title"], "A card");
    world.say("later", Some(&task)).await;
    eventually(async || stands(&world.task(&task).await) == (WAITS, "here I am")).await;
    let task = world.say("end", Some(&task)).await;
    assert_eq!(stands(&task), ("TASK_STATE_COMPLETED", "bye"));
}

#[tokio::test]
async fn two_hundred_conversations_at_once_keep_apart() {
    let world = World::python("agents_sdk.py", &AGENTS_SDK).await;
    let talks = (0..200).map(async |number| {
        let task = world.say(&format!("{number} one"), None).await;
        assert_eq!(stands(&task), (WAITS, &*format!("Echo: {number} one")));
        let task = world.say("count", Some(&task)).await;
        assert_eq!(stands(&task), (WAITS, "1"));
        let task = world.say(&format!("{number} two"), Some(&task)).await;
        assert_eq!(stands(&task), (WAITS, &*format!("Echo: {number} two")));
    });
    join_all(talks).await;
}

/// Waits until something is so.
async fn eventually<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    for _ in 0..1000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not come about in time");
}
