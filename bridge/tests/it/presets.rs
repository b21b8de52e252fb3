//! Tests the turn modes: where they are documented for users, and which clients can continue a bot's conversation.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    bots::{BOT_FRAMEWORK, interop, on_node},
    client::Client,
    program::{Bridge, run},
    terminal::bridge,
    venv,
};

/// The time limit of the program.
const LIMIT: Duration = Duration::from_secs(300);

/// The key as configurations have it to choose from.
const LATE: &str = "\n# turns = \"late\"     # like answers, for bots that answer after their turn";

#[tokio::test]
async fn every_place_that_writes_a_configuration_shows_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (new, init) = (path("new.toml"), path("agent"));
    for command in [&["config", "new", &new][..], &["init", &init]] {
        let (done, told) = run(&mut bridge(command), LIMIT).await;
        assert!(done, "{told}");
    }
    for file in [new, init + "/bridge.toml"] {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(LATE), "{file}: {text}");
    }
}

#[tokio::test]
async fn the_page_and_the_flag_say_what_the_end_of_a_turn_means() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    let agent = |name: &str, more: &str| {
        format!("[[agents]]\nname = '{name}'\nbot = 'http://127.0.0.1:9/'\n{more}\n")
    };
    let agents = agent("a", "") + &agent("b", "turns = 'late'\nsilent_end = 'working'");
    fs::write(&config, format!("store = 'memory'\n{agents}")).unwrap();
    let config = ["--config", config.to_str().unwrap()];
    let (answers, late) = ("turns = \"answers\": completes", "turns = \"late\": like answers");
    let dotnet = "turns = \"dotnet\": leaves the task working";
    for (flags, expected) in
        [(&[][..], [answers, late]), (&["--turns", "dotnet"], [dotnet, dotnet])]
    {
        let bridge = Bridge::serve(&[&config[..], flags].concat());
        let document = reqwest::get(format!("{}/openapi.json", bridge.url())).await;
        let document: Value = document.unwrap().json().await.unwrap();
        for (server, expected) in document["servers"].as_array().unwrap().iter().zip(expected) {
            let told = server["x-turns"].as_str().unwrap();
            assert!(told.starts_with(expected), "{told}");
            let is_over = server["description"] == "b";
            assert_eq!(told.ends_with("; silent_end overrides it"), is_over);
        }
        let page = reqwest::get(format!("{}/docs", bridge.url())).await;
        assert!(page.unwrap().text().await.unwrap().contains("x-turns"));
    }
}

/// The texts of the bots' waterfall in its turns, for a user who orders seven of tea.
const WATERFALL: [(&str, &str); 3] =
    [("dialog", "What shall it be?"), ("tea", "How many?"), ("7", "7 of tea")];

const ASKED: &str = "TASK_STATE_INPUT_REQUIRED";
const COMPLETED: &str = "TASK_STATE_COMPLETED";

/// The ids of the last answer that a client sends again.
#[derive(Clone, Copy, Debug)]
enum RepeatedIds {
    /// The context alone.
    Context,
    /// The task too, as long as it is open.
    Task,
}

#[tokio::test]
async fn a_waterfall_of_the_bot_framework_for_node_continues_in_its_conversation() {
    goes_on(&on_node("bot_framework.js", &[]).await, ASKED).await;
}

/// This SDK's `MessageFactory.text` does not mark a text as a question, even if a prompt sends it: the task is
/// completed, and the conversation continues in the next one.
#[tokio::test]
async fn a_waterfall_of_the_bot_framework_for_python_continues_in_its_conversation() {
    goes_on(&BOT_FRAMEWORK.start().await, COMPLETED).await;
}

#[tokio::test]
async fn clients_of_others_come_to_the_end_of_a_dialog() {
    let bot = on_node("bot_framework.js", &[]).await;
    let url = format!("bot={}/api/messages", bot.url());
    let bridge = Bridge::serve(&["--store", "memory", "--bot", &url]);
    let python = venv::with(&venv::SHOWING).await.join("bin/python");
    let mut client = tokio::process::Command::new(python);
    client.arg(interop("conversations.py")).arg(bridge.url());
    let (passed, said) = run(&mut client, LIMIT).await;
    assert!(passed, "it does not keep the conversation:\n{said}");
}

/// By default, both kinds of clients reach the end of the waterfall, and it completes its task. A question leaves the
/// task in this state.
async fn goes_on(bot: &Bridge, asked: &str) {
    let url = format!("bot={}/api/messages", bot.url());
    let bridge = Bridge::serve(&["--store", "memory", "--bot", &url]);
    let client = Client::of(bridge.url());
    for sends in [RepeatedIds::Context, RepeatedIds::Task] {
        let mut task = Value::Null;
        for (turn, (says, expected)) in WATERFALL.iter().enumerate() {
            let mut message = json!({
                "messageId": format!("{sends:?}-{turn}"), "role": "ROLE_USER", "parts": [{"text": says}],
            });
            if turn > 0 {
                message["contextId"] = task["contextId"].clone();
            }
            let is_open = task["status"]["state"] == ASKED;
            let goes_on = matches!(sends, RepeatedIds::Task) && is_open;
            if goes_on {
                message["taskId"] = task["id"].clone();
            }
            let params = json!({ "message": message });
            let mut answer = client.call("bot", "SendMessage", &params).await.unwrap();
            let next = answer["result"]["task"].take();
            assert!(next.to_string().contains(expected), "{sends:?}: {answer} {next}");
            assert_eq!(next["id"] == task["id"], goes_on, "{sends:?}: {next}");
            let state = if turn == 2 { COMPLETED } else { asked };
            assert_eq!(next["status"]["state"], state, "{sends:?}");
            task = next;
        }
    }
}
