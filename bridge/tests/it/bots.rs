//! Unmodified bots on public packages, called through the program by clients of others. The bots are in
//! `tests/interop/bots/`, the clients in `tests/interop/talk.py`.

mod expected;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    node,
    program::{Bridge, run},
    redact, venv,
};

/// Longer than a client waits by itself.
const LIMIT: Duration = Duration::from_secs(600);

/// The Agents SDK for Python, and what it needs for bots without credentials.
pub(crate) const AGENTS_SDK: Python = Python(
    "agents_sdk.py",
    &["microsoft-agents-hosting-aiohttp==1.9.0", "microsoft-agents-authentication-msal==1.9.0"],
);

/// The Bot Framework SDK for Python.
pub(crate) const BOT_FRAMEWORK: Python = Python(
    "bot_framework.py",
    &["botbuilder-integration-aiohttp==4.17.1", "botbuilder-dialogs==4.17.1"],
);

/// The Teams SDK for Python.
const TEAMS_SDK: Python = Python("teams_sdk.py", &["microsoft-teams-apps==2.1.1"]);

/// The packages of all bots for Node, in one installation.
const NODE_PACKAGES: [&str; 6] = [
    "@microsoft/agents-hosting@1.8.1",
    "@microsoft/agents-hosting-express@1.8.1",
    "@microsoft/teams.apps@2.1.0",
    "botbuilder@4.23.3",
    "botbuilder-dialogs@4.23.3",
    "express@5.2.1",
];

/// The clients, by the version that they speak.
const CLIENTS: [(&str, &str, &[&str]); 2] =
    [("1.0", "bots_1_0.py", &venv::A2A_SDK_1_0), ("0.3", "bots_0_3.py", &venv::A2A_SDK_0_3)];

/// A kind of conversation: its name, its agent, and the user's messages.
type Kind = (&'static str, &'static str, &'static [&'static str]);

/// The conversations that every bot supports.
const KINDS: [Kind; 10] = [
    ("echo", "bot", &["hello"]),
    ("state", "bot", &["count", "hello", "count"]),
    ("question", "bot", &["ask", "that one"]),
    ("dialog", "bot", &["dialog", "tea", "many", "7"]),
    ("cards", "bot", &["card"]),
    ("files", "bot", &["look", "file"]),
    ("corrections", "bot", &["correct"]),
    ("proactive", "open", &["later"]),
    ("ending", "bot", &["count", "end"]),
    ("failure", "bot", &["throw"]),
];

/// The additional conversations of bots on the Agents SDK and the Teams SDK, which stream. The Agents SDK does not
/// stream on unknown channels.
const STREAMED: [Kind; 2] = [("stream", "bot", &["stream"]), ("unstreamed", "a2a", &["stream"])];

/// The additional conversations of bots on the Bot Framework.
const CLASSIC: [Kind; 1] = [("upload", "bot", &["upload"])];

/// The text of a bot after its turn, which only one kind of conversation requests and waits for.
const UNTIL: (&str, &str) = ("proactive", "here I am");

/// A bot in Python, and its packages.
pub(crate) struct Python(&'static str, &'static [&'static str]);

impl Python {
    /// Starts it, and waits until it listens.
    pub(crate) async fn start(&self) -> Bridge {
        let python = venv::with(self.1).await.join("bin/python");
        Bridge::listening(Command::new(python).arg(interop("bots").join(self.0)))
    }
}

#[tokio::test]
async fn the_agents_sdk_for_python() {
    let bot = AGENTS_SDK.start().await;
    talk("agents_python", &bot, &STREAMED).await;
}

#[tokio::test]
async fn the_bot_framework_for_python() {
    let bot = BOT_FRAMEWORK.start().await;
    talk("bot_framework_python", &bot, &CLASSIC).await;
}

#[tokio::test]
async fn the_agents_sdk_for_node() {
    talk("agents_node", &on_node("agents_sdk.js", &[]).await, &STREAMED).await;
}

#[tokio::test]
async fn the_bot_framework_for_node() {
    let bot = on_node("bot_framework.js", &[]).await;
    talk("bot_framework_node", &bot, &CLASSIC).await;
}

#[tokio::test]
async fn the_teams_sdk_for_python() {
    let bot = TEAMS_SDK.start().await;
    talk("teams_python", &bot, &STREAMED).await;
}

#[tokio::test]
async fn the_teams_sdk_for_node() {
    talk("teams_node", &on_node("teams_sdk.js", &[]).await, &STREAMED).await;
}

/// Returns a bot for Node, started with these variables.
pub(crate) async fn on_node(bot: &str, variables: &[(&str, &str)]) -> Bridge {
    let modules = node::with(&NODE_PACKAGES).await;
    let mut node = Command::new("node");
    let bot = interop("bots").join(bot);
    node.envs(variables.iter().copied());
    Bridge::listening(node.arg(bot).env("NODE_PATH", modules))
}

/// Runs every client with a bot, and compares the results with the snapshots.
async fn talk(name: &str, bot: &Bridge, more: &[Kind]) {
    let folder = tempfile::tempdir().unwrap();
    let bridge = serve(&folder, bot);
    let mut seen = Vec::new();
    for (version, client, packages) in CLIENTS {
        let told = conversations(bot, more);
        seen.push((version, ask(&bridge, client, packages, &told).await));
    }
    for (kind, ..) in KINDS.iter().chain(more) {
        let shown = seen.iter().map(|(version, seen)| {
            let part = |way: &str| {
                redact::shown(&format!("{version}, {way}"), &seen[*kind][way], bot.url())
            };
            part("waiting") + &part("streaming")
        });
        let shown: String = shown.collect();
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true,
            snapshot_path => "bots"}, {
            insta::assert_snapshot!(format!("{name}.{kind}"), shown);
        });
    }
}

/// Returns the bot as three agents: on the usual channel, on one that bots do not know, and as one whose tasks stay
/// open, so that what comes after a turn comes in the same task. Messages are shown at the end of a turn, so that the speed
/// of the machine does not matter.
fn serve(folder: &TempDir, bot: &Bridge) -> Bridge {
    let url = bot.url();
    let agent = |name: &str, more: &str| {
        format!(
            "[[agents]]\nname = '{name}'\nbot = '{url}/api/messages'\nshown_after = '1h'\n{more}\n"
        )
    };
    let open = "silent_end = 'input-required'";
    let a2a = "channel_id = 'a2a'";
    let agents = agent("bot", "") + &agent("a2a", a2a) + &agent("open", open);
    let config = folder.path().join("bridge.toml");
    fs::write(&config, format!("store = 'memory'\n{agents}")).unwrap();
    Bridge::serve(&["--config", config.to_str().unwrap()])
}

/// Returns the conversations with a bot, in the form for the clients.
fn conversations(bot: &Bridge, more: &[Kind]) -> Value {
    let told = KINDS.iter().chain(more).map(|(kind, agent, says)| {
        let until = (*kind == UNTIL.0).then_some(UNTIL.1);
        json!({"name": kind, "agent": agent, "says": says, "until": until, "bot": bot.url()})
    });
    told.collect()
}

/// Returns the results of a client by the kind of conversation.
async fn ask(bridge: &Bridge, client: &str, packages: &[&str], told: &Value) -> Value {
    let python = venv::with(packages).await.join("bin/python");
    let mut command = tokio::process::Command::new(python);
    command.arg(interop(client)).arg(bridge.url()).arg(told.to_string());
    let (done, said) = run(&mut command, LIMIT).await;
    let seen = said.lines().find_map(|line| serde_json::from_str(line).ok());
    match seen {
        Some(seen) if done => seen,
        _ => panic!("{client} did not come to its end:\n{said}"),
    }
}

pub(crate) fn interop(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(file)
}
