//! Tests `bridge chat`, `discover` and `check` with agents of frameworks, which are served over A2A by each framework's
//! own means: they repeat messages, and each answer must be shown once.

use std::{process::Command, time::Duration};

use super::{interop, python};
use crate::{
    node,
    program::{Bridge, output},
    terminal::{bridge, chat},
    venv,
};

const LIMIT: Duration = Duration::from_secs(300);

/// The expected results for an agent's address.
struct Found {
    name: &'static str,
    speaks: &'static str,
    /// The expected errors of its card.
    errors: &'static [&'static str],
}

#[tokio::test]
async fn google_adk_is_understood() {
    let agent = python("google_adk.py", &venv::SHOWING).await;
    let found = Found { name: "google_adk", speaks: "JSONRPC 1.0", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn microsoft_s_agent_framework_is_understood() {
    let agent = python("microsoft_agent_framework.py", &venv::SHOWING).await;
    let found = Found {
        name: "Microsoft Agent Framework",
        speaks: "JSONRPC 1.0",
        errors: &["supportedInterfaces[0].protocolVersion", "supportedInterfaces"],
    };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn strands_is_understood() {
    let agent = python("strands_agent.py", &venv::STRANDS).await;
    let found = Found { name: "strands", speaks: "JSONRPC 0.3", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn fasta2a_is_understood() {
    let agent = python("fasta2a_agent.py", &venv::FASTA2A).await;
    let found = Found { name: "fasta2a", speaks: "JSONRPC 1.0", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn langgraph_is_understood() {
    let agent = python("langgraph_dev.py", &venv::LANGGRAPH).await;
    let found = Found { name: "echo", speaks: "JSONRPC 1.0", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn voltagent_is_understood() {
    let agent = javascript("voltagent.mjs", &node::VOLTAGENT).await;
    let found = Found { name: "volt", speaks: "JSONRPC 0.3", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn strands_for_javascript_is_understood() {
    let agent = javascript("strands_agent.mjs", &node::STRANDS).await;
    let found = Found { name: "strands", speaks: "JSONRPC 0.3", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn ag2_is_understood() {
    let agent = python("ag2_agent.py", &venv::AG2).await;
    let found =
        Found { name: "ag2", speaks: "JSONRPC 1.0", errors: &["description", "skills[0].tags"] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

/// Each of its methods has an address of its own.
#[tokio::test]
async fn agno_is_understood() {
    let agent = python("agno_os.py", &venv::AGNO).await;
    let found = Found { name: "agno", speaks: "JSONRPC 0.3", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn a2akit_is_understood() {
    let agent = python("a2akit_agent.py", &venv::A2AKIT).await;
    let found = Found { name: "a2akit", speaks: "JSONRPC 0.3", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

#[tokio::test]
async fn crewai_is_understood() {
    if !venv::is_large_wanted() {
        return;
    }
    let agent = python("crewai_agent.py", &venv::CREWAI).await;
    let found = Found { name: "crewai", speaks: "JSONRPC 0.3", errors: &[] };
    meet(agent.url(), &found).await;
    turns(agent.url()).await;
}

async fn javascript(server: &str, packages: &[&str]) -> Bridge {
    let modules = node::with(packages).await;
    let mut node = Command::new("node");
    Bridge::listening(node.arg(interop(server)).env("NODE_PATH", modules))
}

/// Checks that an answer is shown once, waiting and streaming, that the agent is found, and that the errors of its card
/// are reported.
async fn meet(url: &str, found: &Found) {
    let said = discovered(url).await;
    let Found { name, speaks, errors } = found;
    assert!(said.starts_with(&format!("{name} ")), "{said}");
    assert!(said.contains(&format!("speaks {speaks} at ")), "{said}");
    for more in [&[][..], &["--no-stream"]] {
        let arguments = [&["chat", url, "-m", "hi"], more].concat();
        let (code, said, told) = output(&mut bridge(&arguments), LIMIT).await;
        let seen = (code, said.trim_end());
        assert_eq!(seen, (Some(0), "You said: hi"), "{more:?}: {told}");
    }
    let (code, said, _) = output(&mut bridge(&["check", url]), LIMIT).await;
    let wrong: Vec<_> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("error "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(wrong, *errors, "{said}");
    assert_eq!(code, Some(i32::from(!errors.is_empty())), "{said}");
}

/// Returns what `bridge discover` says of an agent. The first answer of some agents takes more than ten seconds on a busy
/// machine, and the command does not wait longer.
async fn discovered(url: &str) -> String {
    let mut told = String::new();
    for _ in 0..10 {
        let (code, said, errors) = output(&mut bridge(&["discover", url]), LIMIT).await;
        if code == Some(0) {
            return said;
        }
        told = errors;
    }
    panic!("{told}");
}

/// Checks that a conversation continues from line to line.
async fn turns(url: &str) {
    for more in [&[][..], &["--no-stream"]] {
        let said = chat(&[&[url], more].concat(), "hi\nho\n").await;
        let lines: Vec<_> = said.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, ["You said: hi", "You said: ho"], "{more:?}");
    }
}
