//! Runs this crate's examples as their documentation says.
//!
//! Most listen on the port that they name, so one test runs them one after the other, each as soon as
//! the port is free.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bridge_client::{
    Client, Options,
    invocation::{Outcome, State},
    new_message_id,
};
use bridge_protocol::a2a::{
    Content, Message, Part, Role, SendMessageRequest, StreamResponse, Task,
};
use futures_util::StreamExt as _;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

const BASE: &str = "http://127.0.0.1:3978";

/// The example, which cargo has built beside this test; ended when this is dropped.
struct Example(Child);

impl Example {
    fn start(name: &str, arguments: &[&str]) -> Self {
        Self::run(name, |program| program.args(arguments))
    }

    /// Starts an example at a free port, and returns its address as it prints it.
    fn listening(name: &str, arguments: &[&str]) -> (Self, String) {
        let mut example = Self::run(name, |program| {
            program.arg("127.0.0.1:0").args(arguments).stderr(Stdio::piped())
        });
        let mut line = String::new();
        BufReader::new(example.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
        (example, url)
    }

    fn run(name: &str, with: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let this = std::env::current_exe().unwrap();
        let target: PathBuf = this.ancestors().nth(2).unwrap().into();
        let program = target.join("examples").join(name);
        let started = with(&mut Command::new(&program)).spawn();
        let program = program.display();
        Self(started.unwrap_or_else(|error| {
            panic!("{program}: {error}; `cargo test` without --test builds it")
        }))
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Polls until there is a result; fails the test if the limit passes before.
async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(300);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < limit, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn port_is_free() {
    eventually("a free port 3978", async || TcpListener::bind("127.0.0.1:3978").ok()).await;
}

async fn ready(path: &str) {
    let url = format!("{BASE}{path}/.well-known/agent-card.json");
    let card = async || reqwest::get(&url).await.ok()?.json::<Value>().await.ok();
    let card = eventually("a card", card).await;
    assert_eq!(card["url"], format!("{BASE}{path}"));
}

async fn say(path: &str, token: Option<&str>, method: &str, params: Value) -> (u16, Value) {
    let reply = send(path, token, method, params).await;
    (reply.status().as_u16(), reply.json().await.unwrap_or_default())
}

async fn send(path: &str, token: Option<&str>, method: &str, params: Value) -> reqwest::Response {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let client = reqwest::Client::new();
    let mut request = client.post(format!("{BASE}{path}")).header("a2a-version", "1.0").json(&body);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    request.send().await.unwrap()
}

fn hello() -> Value {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
}

fn words() -> Value {
    json!({"message": {"messageId": "m-2", "role": "ROLE_USER", "parts": [{"text": "three two one"}]}})
}

#[tokio::test]
async fn each_does_what_it_says() {
    port_is_free().await;
    let example = Example::start("host_a_bot", &[]);
    ready("/a2a").await;
    let (_, answer) = say("/a2a", None, "SendMessage", hello()).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "HELLO", "{answer}");
    drop(example);

    port_is_free().await;
    let example = Example::start("own_executor", &["127.0.0.1:3978"]);
    ready("/a2a").await;
    let (_, answer) = say("/a2a", None, "SendMessage", words()).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    let said: String = task["artifacts"][0]["parts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert_eq!(said, "one two three ", "{answer}");
    let file = &task["artifacts"][1]["parts"][0];
    assert_eq!(file["filename"], "reversed.txt", "{answer}");
    let nothing =
        json!({"message": {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": " "}]}});
    let (_, asked) = say("/a2a", None, "SendMessage", nothing).await;
    let status = &asked["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_INPUT_REQUIRED", "{asked}");
    assert_eq!(status["message"]["parts"][0]["text"], "Which words?", "{asked}");
    let task = &asked["result"]["task"]["id"];
    let again = json!({"message": {"messageId": "m3", "role": "ROLE_USER", "taskId": task, "parts": [{"text": " "}]}});
    let (_, asked) = say("/a2a", None, "SendMessage", again).await;
    assert_eq!(
        asked["result"]["task"]["status"]["message"]["parts"][0]["text"],
        "I need at least one word.",
        "{asked}"
    );
    drop(example);

    port_is_free().await;
    let mut example = Example::start("mount_in_axum", &[]);
    ready("/agents/a2a").await;
    let path = "/agents/a2a";
    assert_eq!(say(path, None, "SendMessage", hello()).await.0, 401);
    let (_, answer) = say(path, Some("ada-token"), "SendMessage", hello()).await;
    let id = json!({"id": answer["result"]["task"]["id"]});
    let (_, own) = say(path, Some("ada-token"), "GetTask", id.clone()).await;
    assert_eq!(own["result"]["status"]["state"], "TASK_STATE_COMPLETED", "{own}");
    let (_, others) = say(path, Some("alan-token"), "GetTask", id).await;
    assert_eq!(others["error"]["code"], -32001, "{others}");

    let waits =
        json!({"message": {"messageId": "m3", "role": "ROLE_USER", "parts": [{"text": "-multi"}]}});
    let (_, answer) = say(path, Some("ada-token"), "SendMessage", waits).await;
    let id = json!({"id": answer["result"]["task"]["id"]});
    let mut stream = send(path, Some("ada-token"), "SubscribeToTask", id).await;
    let begun = stream.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&begun).contains("TASK_STATE_INPUT_REQUIRED"));
    let process = Pid::from_raw(example.0.id().try_into().unwrap());
    kill(process, Signal::SIGINT).unwrap();
    let ended = eventually("the end", async || example.0.try_wait().unwrap()).await;
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn an_agent_forwards_messages_streams_and_questions() {
    let (_other, url) = Example::listening("own_executor", &[]);
    let catalogue = format!("{url}/a2a/catalog");
    let (_forwarding, url) = Example::listening("forwarding", &[&catalogue, "reverse"]);
    let client = Client::connect(&url.parse().unwrap(), &Options::default()).await.unwrap();
    let message = |text| Message::new(new_message_id(), Role::User, vec![Part::text(text)]);

    let request = SendMessageRequest::new(message("three two one"));
    let mut events = client.send_streaming_message(request).await.unwrap();
    let (mut pieces, mut task) = (Vec::new(), None::<Task>);
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        if let StreamResponse::ArtifactUpdate(update) = &event {
            pieces
                .extend(update.artifact.parts.iter().filter_map(Part::as_text).map(str::to_owned));
        }
        match &mut task {
            Some(task) => task.apply(event),
            None => task = Task::begun_by(event),
        }
    }
    assert_eq!(pieces, ["one ", "two ", "three "]);
    let done = Outcome::from(task.unwrap());
    assert_eq!(done.state, State::Completed);
    let file = done.artifacts.iter().find(|one| one.artifact_id == "file").unwrap();
    assert_eq!(file.parts[0].content, Content::Raw(b"one\ntwo\nthree".to_vec()));

    let asked = client.send_message(SendMessageRequest::new(message(" "))).await.unwrap();
    let asked = Outcome::from(asked);
    assert_eq!((asked.state, &*asked.text), (State::InputRequired, "Which words?"));
    let answer = Message { task_id: asked.task_id, ..message("b a") };
    let done = client.send_message(SendMessageRequest::new(answer)).await.unwrap();
    let done = Outcome::from(done);
    assert_eq!((done.state, &*done.text), (State::Completed, "a b "));

    let (_nobody, url) = Example::listening("forwarding", &[&catalogue, "fly"]);
    let client = Client::connect(&url.parse().unwrap(), &Options::default()).await.unwrap();
    let failed = client.send_message(SendMessageRequest::new(message("x"))).await.unwrap();
    let failed = Outcome::from(failed);
    assert_eq!((failed.state, &*failed.text), (State::Failed, "no agent has the skill fly"));
}
