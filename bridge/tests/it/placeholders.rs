//! Unmodified bots that say "Working on it" first, and put the answer in its place: in the turn and after it.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    bots::{AGENTS_SDK, on_node},
    client::Client,
    program::Bridge,
};

/// The time limit of an answer that comes after the turn.
const LIMIT: Duration = Duration::from_secs(300);

#[tokio::test]
async fn the_agents_sdk_for_python_answers_in_the_place_of_its_placeholder() {
    answers(&AGENTS_SDK.start().await).await;
}

#[tokio::test]
async fn the_bot_framework_for_node_answers_in_the_place_of_its_placeholder() {
    answers(&on_node("bot_framework.js", &[]).await).await;
}

async fn answers(bot: &Bridge) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    let url = bot.url();
    let agent = |name: &str, end: &str| {
        format!("[[agents]]\nname = '{name}'\nbot = '{url}/api/messages'\nsilent_end = '{end}'\n")
    };
    let agents = agent("open", "input-required") + &agent("done", "completed");
    fs::write(&config, format!("store = 'memory'\n{agents}")).unwrap();
    let bridge = Bridge::serve(&["--config", config.to_str().unwrap()]);
    let client = Client::of(bridge.url());
    for (agent, says, follows) in [
        ("open", "work", false),
        ("done", "work", false),
        ("open", "worklater", false),
        ("done", "worklater", true),
    ] {
        let message = json!({
            "messageId": format!("{agent}-{says}"), "role": "ROLE_USER", "parts": [{"text": says}],
        });
        let params = json!({ "message": message });
        let answer = client.call(agent, "SendMessage", &params).await;
        let task = answer.unwrap()["result"]["task"].take();
        if says == "worklater" {
            // The turn is over, and only now the bot continues.
            let context = task["contextId"].as_str().unwrap();
            let asked = reqwest::Client::new().post(format!("{url}/now/{context}"));
            assert!(asked.send().await.unwrap().status().is_success());
        }
        let last = answered(&client, agent, &task).await;
        assert!(!last.to_string().contains("Working"), "{last}");
        let referred = &last["metadata"]["urn:activity:follows"]["taskId"];
        let expected = if follows { &task["id"] } else { &Value::Null };
        assert_eq!(referred, expected, "{agent}, {says}: {last}");
        if follows {
            let ended = get(&client, agent, &task["id"]).await;
            assert!(ended.to_string().contains("Working"), "{ended}");
        }
    }
}

/// Returns the newest task of a context as soon as it has the answer.
async fn answered(client: &Client, agent: &str, task: &Value) -> Value {
    let deadline = Instant::now() + LIMIT;
    let params = json!({"contextId": task["contextId"]});
    loop {
        let listed = client.call(agent, "ListTasks", &params).await.unwrap();
        let last = get(client, agent, &listed["result"]["tasks"][0]["id"]).await;
        if last.to_string().contains("The answer") {
            return last;
        }
        assert!(Instant::now() < deadline, "{last}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn get(client: &Client, agent: &str, id: &Value) -> Value {
    let params = json!({ "id": id });
    let found = client.call(agent, "GetTask", &params).await.unwrap();
    found["result"].clone()
}
