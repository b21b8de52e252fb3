//! Runs many conversations through one bot at once: they stay separate, and memory does not grow.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{bots::AGENTS_SDK, client::Client, program::Bridge};

/// The number of conversations at the same time.
const CONVERSATIONS: usize = 200;

/// The number of rounds; the first one warms up.
const ROUNDS: usize = 5;

/// The memory that two rounds may leave in addition, in KiB: the cache of tasks is filled in the meantime, by some 10
/// KiB for each of their 1,200.
const GROWTH: u64 = 24 * 1024;

const ENDED: &str = "TASK_STATE_COMPLETED";

#[tokio::test]
async fn two_hundred_conversations_at_once_keep_apart_in_flat_memory() {
    let bot = AGENTS_SDK.start().await;
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("data").display());
    let choice = format!("bot={}/api/messages", bot.url());
    let bridge = Bridge::serve(&["--store", &store, "--bot", &choice]);
    let client = Client::of(bridge.url());
    let mut held = Vec::new();
    for round in 1..=ROUNDS {
        join_all((0..CONVERSATIONS).map(|number| converse(&client, round, number))).await;
        held.push(bridge.resident());
    }
    // The allocator keeps a varying amount of memory, so the least of several rounds is compared.
    let least = |rounds: &[u64]| *rounds.iter().min().unwrap();
    let (early, late) = (least(&held[1..3]), least(&held[3..]));
    assert!(late < early + GROWTH, "after each round the bridge held {held:?} KiB");
}

/// While one turn blocks the only thread of the bot, another one has connected to the bridge and cannot send yet.
#[tokio::test]
async fn a_bot_whose_turns_block_each_other_answers_them_all() {
    let bot = AGENTS_SDK.start().await;
    let choice = format!("bot={}/api/messages", bot.url());
    let bridge = Bridge::serve(&["--store", "memory", "--bot", &choice]);
    let client = Client::of(bridge.url());
    let answers = join_all((0..4).map(|_| say(&client, "block", &Value::Null))).await;
    for task in answers {
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "At last.", "{task}");
    }
}

/// Three turns in one context, each of whose replies must be this conversation's.
async fn converse(client: &Client, round: usize, number: usize) {
    let mut task = Value::Null;
    let [first, last] = ["one", "two"].map(|word| format!("{word} of {round} and {number}"));
    let echo = |said: &str| format!("Echo: {said}");
    for (said, expected) in [(&*first, echo(&first)), ("count", "1".into()), (&*last, echo(&last))]
    {
        task = say(client, said, &task).await;
        let answer = &task["artifacts"][0]["parts"][0]["text"];
        let seen = (&task["status"]["state"], answer);
        assert_eq!(seen, (&json!(ENDED), &json!(expected)));
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Sends a message in the context of a task, or in a new one.
async fn say(client: &Client, text: &str, task: &Value) -> Value {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut message = json!({"messageId": format!("m-{number}"), "role": "ROLE_USER",
        "parts": [{"text": text}]});
    if let Some(context) = task.get("contextId") {
        message["contextId"] = context.clone();
    }
    let params = json!({ "message": message });
    let answer = client.call("bot", "SendMessage", &params).await;
    answer.expect("the bridge answers")["result"]["task"].clone()
}
