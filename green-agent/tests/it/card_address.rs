//! Tests scenarios whose `endpoint` is the URL of a card, with its query: some servers, LangGraph's and
//! VoltAgent's, have no other.

#[path = "../../../bridge/tests/it/foreign/saved.rs"]
mod saved;

use std::{fs, path::Path, process::Command, time::Duration};

use saved::ReplayServer;
use tokio::{task::spawn_blocking, time::timeout};

/// A limit that is longer than a conversation of two turns takes.
const LIMIT: Duration = Duration::from_secs(120);

const LANGGRAPH: &str = include_str!("../../../bridge/tests/interop/servers/saved/langgraph.json");
const VOLTAGENT: &str = include_str!("../../../bridge/tests/interop/servers/saved/voltagent.json");

/// Returns a scenario with one turn that waits, and one that streams.
fn scenario(endpoint: &str) -> String {
    let turn = |stream: bool| {
        format!(
            "[[config.turn]]\nto = 'assistant'\ntext = 'hi'\nstate = 'completed'\nstream = {stream}\n\
             contains = 'You said: hi'\n"
        )
    };
    format!(
        "[green_agent]\n[[participants]]\nrole = 'assistant'\nendpoint = '{endpoint}'\n\
         [config]\nevaluator = 'conversation'\n{}{}[harness]\nversion = 1\n\
         [[harness.expect]]\non = 'score'\neq = 1\n",
        turn(false),
        turn(true),
    )
}

/// Returns everything that was recorded of a run.
fn recorded(runs: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(runs).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => text += &recorded(&path),
            false if path.ends_with("transcript.jsonl") => {
                text += &fs::read_to_string(path).unwrap();
            }
            false => {}
        }
    }
    text
}

#[tokio::test]
async fn an_endpoint_may_be_a_cards_own_address() {
    for (file, path) in [(LANGGRAPH, "/a2a/046b5dc7"), (VOLTAGENT, "/a2a/volt")] {
        let agent = ReplayServer::serve(file).await;
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().join("card.toml");
        fs::write(&written, scenario(&agent.card)).unwrap();
        let runs = folder.path().join("runs");
        let mut program = Command::new(env!("CARGO_BIN_EXE_green-agent"));
        program.arg("run").arg(&written).arg("--runs").arg(&runs);
        program.args(["--snapshots", "accept"]);
        let ran = timeout(LIMIT, spawn_blocking(move || program.output())).await;
        let output = ran.unwrap().unwrap().unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        // The card contained the recorder's address, so the messages are in the transcript.
        assert!(recorded(&runs).contains(path), "{path} is not recorded");
    }
}
