//! Tests clients that show answers to people or to models: each answer is shown once, in every place that they have for
//! it.

use std::{
    fs,
    net::TcpListener,
    sync::{Arc, Weak},
};

use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::{process::Command, sync::Mutex};

use super::{LIMIT, interop};
use crate::{
    bots::{AGENTS_SDK, on_node},
    node,
    program::{Bridge, run},
    venv,
};

#[tokio::test]
async fn google_adk_shows_each_answer_once() {
    python("google_adk.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn microsoft_s_agent_framework_shows_each_answer_once() {
    python("microsoft_agent_framework.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn langchain_s_remote_agent_shows_each_answer_once() {
    python("langchain_remote.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn command_lines_show_each_answer_once() {
    python("command_lines.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn a2a_bridge_shows_each_answer_once() {
    python("chat_completions.py", &venv::SHOWING).await;
}

#[tokio::test]
async fn strands_shows_each_answer_once() {
    python("strands_agent.py", &venv::STRANDS).await;
}

#[tokio::test]
async fn beeai_shows_each_answer_once() {
    python("beeai_agent.py", &venv::BEEAI).await;
}

#[tokio::test]
async fn nvidia_s_toolkit_shows_each_answer_once() {
    python("nvidia_nat.py", &venv::NAT).await;
}

#[tokio::test]
async fn ag2_shows_each_answer_once() {
    python("ag2_agent.py", &venv::AG2).await;
}

#[tokio::test]
async fn hybro_s_hub_shows_each_answer_once() {
    python("hybro_hub.py", &venv::HYBRO).await;
}

/// The proxy has addresses of its own for the agents, checks what passes, and knows JSON-RPC only.
#[tokio::test]
async fn bastionmesh_passes_each_answer_on() {
    let stage = stage().await;
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("mesh.yaml");
    let peer = |name: &str| {
        let agent = format!("{}/a2a/{name}", stage.bridge.url());
        format!("  {name}:\n    url: {agent}\n    card_url: {agent}/.well-known/agent-card.json\n")
    };
    let peers = SAY.map(|(name, _)| peer(name)).concat();
    // The cards name the address that the policy has.
    let here = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fs::write(&policy, format!("listen: {here}\npeers:\n{peers}")).unwrap();
    let program = venv::with(&venv::MESH).await.join("bin/bastionmesh");
    let mut mesh = std::process::Command::new(program);
    let mesh = mesh.args(["run", "--policy"]).arg(policy);
    let mesh = Bridge::listening(mesh);
    for (name, before) in SAY {
        for way in [&[][..], &["--no-stream"]] {
            let mut chat = Command::new(env!("CARGO_BIN_EXE_bridge"));
            let agent = format!("{}/peers/{name}", mesh.url());
            let (passed, said) =
                run(chat.args(["chat", &agent, "-m", "hi"]).args(way), LIMIT).await;
            assert!(passed && said.matches(&format!("{before}hi")).count() == 1, "{name}: {said}");
        }
    }
}

#[tokio::test]
async fn crewai_shows_each_answer_once() {
    if venv::is_large_wanted() {
        python("crewai_delegation.py", &venv::CREWAI).await;
    }
}

#[tokio::test]
async fn a2a_ai_provider_shows_each_answer_once() {
    javascript("a2a_ai_provider.mjs", &node::AI_PROVIDER).await;
}

#[tokio::test]
async fn google_adk_for_javascript_shows_each_answer_once() {
    javascript("google_adk.mjs", &node::GOOGLE_ADK).await;
}

#[tokio::test]
async fn strands_for_javascript_shows_each_answer_once() {
    javascript("strands_agent.mjs", &node::STRANDS).await;
}

async fn javascript(client: &str, packages: &[&str]) {
    let mut command = Command::new("node");
    command.env("NODE_PATH", node::with(packages).await);
    command.arg(interop(client));
    show(command).await;
}

async fn python(client: &str, packages: &[&str]) {
    let mut command = Command::new(venv::with(packages).await.join("bin/python"));
    command.arg(interop(client));
    show(command).await;
}

/// The messages to agents before they repeat messages: both built-in ones, and a bot of another SDK in Python and in
/// JavaScript each.
const SAY: [(&str, &str); 4] =
    [("sample", "You said: "), ("echo", "Echo: "), ("python", "Echo: "), ("javascript", "Echo: ")];

/// A bridge whose cards are as they are by default, and the bots behind it. The agent `asking` is set up for clients that
/// show artifacts only.
struct Stage {
    bridge: Bridge,
    _bots: [Bridge; 2],
    _folder: TempDir,
}

/// The stage of the clients that run now: those that run at once share it.
static STAGE: Mutex<Weak<Stage>> = Mutex::const_new(Weak::new());

async fn stage() -> Arc<Stage> {
    let mut shared = STAGE.lock().await;
    if let Some(stage) = shared.upgrade() {
        return stage;
    }
    let (python, javascript) = (AGENTS_SDK.start().await, on_node("bot_framework.js", &[]).await);
    let remote = |name: &str, bot: &Bridge| {
        format!("[[agents]]\nname = '{name}'\nbot = '{}/api/messages'\n", bot.url())
    };
    let builtin = |name: &str| format!("[[agents]]\nname = '{name}'\nbuiltin = '{name}'\n");
    let config = [
        "store = 'memory'\n".to_owned(),
        builtin("sample"),
        builtin("echo"),
        remote("python", &python),
        remote("javascript", &javascript),
        remote("asking", &javascript) + "question_end = 'completed'\n",
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    fs::write(&file, config.concat()).unwrap();
    let stage = Arc::new(Stage {
        bridge: Bridge::serve(&["--config", file.to_str().unwrap()]),
        _bots: [python, javascript],
        _folder: folder,
    });
    *shared = Arc::downgrade(&stage);
    stage
}

/// Lets a client talk to all agents; its checks are this test's.
async fn show(mut client: Command) {
    let stage = stage().await;
    let say: Map<String, Value> =
        SAY.map(|(name, before)| (name.into(), before.into())).into_iter().collect();
    client.env("SHOWN", Value::Object(say).to_string());
    let (passed, said) = run(client.arg(stage.bridge.url()), LIMIT).await;
    assert!(passed, "it does not show each answer once:\n{said}");
}
