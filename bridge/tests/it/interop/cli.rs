//! The official command line client (crate `a2a-cli`), command by command, over both of its transports: what
//! it prints is JSON, and its error codes are the protocol's names.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Deserializer, Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use super::serve;
use crate::{official, program::Bridge};

/// Longer than a command takes.
const LIMIT: Duration = Duration::from_secs(300);

/// The joined text of streams that answer `-stream`.
const STREAMED: &str = "A task is a log of what was said and done. \
    Everyone who follows it sees the same events in the same order [1].\n\
    [1] Agent2Agent (A2A) Protocol Specification (https://a2a-protocol.org/latest/specification/)";

#[tokio::test]
async fn a2a_cli_does_all_of_its_commands() {
    let (program, bridge) = (official::program("a2a_cli").await, serve());
    for transport in ["jsonrpc", "rest"] {
        let sample = Cli::new(&program, &bridge, "sample", transport);
        cards(&sample).await;
        let ended = turns(&sample).await;
        streamed(&sample).await;
        listed(&sample).await;
        pushes(&sample).await;
        refused(&sample, &ended).await;
        subscribed(&Cli::new(&program, &bridge, "hanging", transport)).await;
    }
}

/// The program, as it speaks to one agent.
struct Cli {
    program: PathBuf,
    card: String,
    transport: &'static str,
    /// The empty folder in which it looks for settings.
    home: TempDir,
}

/// The JSON documents that a command printed, and its error if it failed.
#[derive(Debug)]
struct Printed {
    documents: Vec<Value>,
    error: Option<Value>,
}

impl Cli {
    fn new(program: &Path, bridge: &Bridge, agent: &str, transport: &'static str) -> Self {
        Self {
            program: program.to_owned(),
            card: format!("{}/a2a/{agent}/.well-known/agent-card.json", bridge.url()),
            transport,
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["-o", "json", "--agent-card", &self.card])
            .args(["--transport", self.transport, "--poll-interval", "50ms"])
            .args(arguments)
            .current_dir(self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> Printed {
        let output = timeout(LIMIT, self.command(arguments).output()).await;
        let output = output.unwrap_or_else(|_| panic!("{arguments:?} takes too long"));
        let output = output.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let documents = Deserializer::from_slice(&output.stdout).into_iter();
        Printed {
            documents: documents.map(Result::unwrap).collect(),
            error: (!output.status.success()).then(|| error(&said)),
        }
    }

    /// Returns the one document that a command prints.
    async fn ask(&self, arguments: &[&str]) -> Value {
        let mut printed = self.run(arguments).await;
        assert_eq!(printed.error, None, "{arguments:?}: {printed:?}");
        assert_eq!(printed.documents.len(), 1, "{arguments:?}: {printed:?}");
        printed.documents.remove(0)
    }

    /// Returns the code with which a command fails.
    async fn fail(&self, arguments: &[&str]) -> Value {
        let printed = self.run(arguments).await;
        let error = printed.error.as_ref().map(|error| error["code"].clone());
        error.unwrap_or_else(|| panic!("{arguments:?} does not fail: {printed:?}"))
    }

    /// Returns the task that a message begins or continues.
    async fn say(&self, arguments: &[&str]) -> Value {
        self.ask(&[&["send"], arguments].concat()).await["task"].take()
    }
}

/// Returns the error object in the last line of what a command printed; warnings may precede it.
fn error(said: &str) -> Value {
    let last = said.lines().last().unwrap_or_default();
    let object: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("no error: {said}"));
    object["error"].clone()
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

/// Checks that the card is one of 1.0 for clients that name this version; without a version it also has the fields of
/// 0.3.
async fn cards(cli: &Cli) {
    let card = cli.ask(&["card", "get"]).await;
    assert_eq!(card["name"], "sample");
    let version = ["--svc-param", "A2A-Version:1.0"];
    let invalid = cli.run(&["card", "get", "--validate"]).await.error.unwrap();
    let violations = invalid["details"].as_array().unwrap();
    assert_eq!(violations.len(), 1, "{invalid}");
    let older =
        "('additionalInterfaces', 'preferredTransport', 'protocolVersion', 'url' were unexpected)";
    assert!(violations[0].to_string().contains(older), "{invalid}");
    let valid = cli.ask(&[&["card", "get", "--validate"], &version[..]].concat()).await;
    assert_eq!(valid["name"], "sample");
    let failed = cli.fail(&["card", "get", "--extended"]).await;
    assert_eq!(failed, "UNSUPPORTED_OPERATION");
}

/// Returns an answer, then a conversation of three turns; the first task is over.
async fn turns(cli: &Cli) -> Value {
    let answered = cli.say(&["hi"]).await;
    assert_eq!(state(&answered), "TASK_STATE_COMPLETED");
    assert_eq!(answered["artifacts"][0]["parts"], json!([{"text": "You said: hi"}]));
    assert_eq!(cli.ask(&["task", "get", id(&answered)]).await, answered);

    let asked = cli.say(&["--", "-multi"]).await;
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
    let task = ["--task-id", id(&asked)];
    let parts = ["--text-part", "one", "--data-part", r#"{"n":1}"#];
    let again = cli.say(&[&parts[..], &task].concat()).await;
    assert_eq!((id(&again), state(&again)), (id(&asked), "TASK_STATE_INPUT_REQUIRED"));
    let ended = cli.say(&[&["end"], &task[..]].concat()).await;
    assert_eq!((id(&ended), state(&ended)), (id(&asked), "TASK_STATE_COMPLETED"));
    answered
}

async fn streamed(cli: &Cli) {
    let printed = cli.run(&["send", "--stream", "--", "-stream"]).await;
    assert_eq!(printed.error, None);
    let events = printed.documents;
    assert_eq!(state(&events[0]["task"]), "TASK_STATE_WORKING");
    let pieces = events.iter().filter_map(|event| event.get("artifactUpdate"));
    let text = pieces.fold(String::new(), |text, update| {
        let piece = update["artifact"]["parts"][0]["text"].as_str();
        let piece = piece.unwrap_or_default();
        if update["append"] == json!(true) { text + piece } else { piece.to_owned() }
    });
    assert_eq!(text, STREAMED);
    let last = events.last().unwrap();
    assert_eq!(state(&last["statusUpdate"]), "TASK_STATE_COMPLETED", "{last}");
}

/// Finds a waiting task by its context and state, and cancels it.
async fn listed(cli: &Cli) {
    let task = cli.say(&["--", "-multi"]).await;
    let context = task["contextId"].as_str().unwrap();
    let filters = ["--context-id", context, "--status", "input-required"];
    let listed = cli.ask(&[&["task", "list"], &filters[..]].concat()).await;
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(id(&listed["tasks"][0]), id(&task));
    let canceled = cli.ask(&["task", "cancel", id(&task)]).await;
    assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
    let got = cli.ask(&["task", "get", id(&task), "--wait"]).await;
    assert_eq!(state(&got), "TASK_STATE_CANCELED");
}

async fn pushes(cli: &Cli) {
    let task = cli.say(&["--", "-multi"]).await;
    let (task, hook) = (id(&task), "http://127.0.0.1:9/hook");
    let push = ["task", "push-config"];
    let named = ["--config-id", "p", "--token", "t"];
    let shown = ["--auth-scheme", "Bearer", "--auth-credentials", "secret"];
    let create = [&push[..], &["create", task, hook], &named, &shown].concat();
    let made = cli.ask(&create).await;
    let seen = (&made["id"], &made["url"], &made["token"]);
    assert_eq!(seen, (&json!("p"), &json!(hook), &json!("t")), "{made}");
    let got = cli.ask(&[&push[..], &["get", task, "p"]].concat()).await;
    assert_eq!(got, made);
    let list = [&push[..], &["list", task]].concat();
    assert_eq!(cli.ask(&list).await["configs"], json!([made]));
    let deleted = cli.run(&[&push[..], &["delete", task, "p"]].concat()).await;
    assert_eq!(deleted.error, None);
    let left = cli.ask(&list).await;
    assert_eq!(left["configs"].as_array().map_or(0, Vec::len), 0, "{left}");
    let inside = [&push[..], &["create", task, "http://10.0.0.1/hook"]].concat();
    let refused = cli.run(&inside).await.error.unwrap();
    assert_eq!(refused["a2aCode"], -32602);
}

async fn refused(cli: &Cli, ended: &Value) {
    let task = id(ended);
    for (arguments, code) in [
        (&["task", "get", "unknown"][..], "TASK_NOT_FOUND"),
        (&["task", "cancel", task], "TASK_NOT_CANCELABLE"),
        (&["task", "subscribe", task], "UNSUPPORTED_OPERATION"),
        (&["send", "more", "--task-id", task], "UNSUPPORTED_OPERATION"),
    ] {
        assert_eq!(cli.fail(arguments).await, code, "{arguments:?}");
    }
}

/// Follows a task that was begun without waiting, and cancels it with another command.
async fn subscribed(hanging: &Cli) {
    let task = hanging.say(&["hi", "--async", "--return-immediately"]).await;
    assert_eq!(state(&task), "TASK_STATE_WORKING");
    let mut follower = hanging.command(&["task", "subscribe", id(&task)]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = async || timeout(LIMIT, lines.next_line()).await.unwrap().unwrap();
    let first: Value = serde_json::from_str(&next().await.unwrap()).unwrap();
    assert_eq!(state(&first["task"]), "TASK_STATE_WORKING");
    hanging.ask(&["task", "cancel", id(&task)]).await;
    let last: Value = serde_json::from_str(&next().await.unwrap()).unwrap();
    assert_eq!(state(&last["statusUpdate"]), "TASK_STATE_CANCELED");
    assert_eq!(next().await, None);
    let ended = timeout(LIMIT, follower.wait()).await.unwrap().unwrap();
    assert!(ended.success());
}
