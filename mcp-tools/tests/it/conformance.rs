//! Runs the official conformance suite against the fixtures in the examples.

use std::{collections::BTreeMap, time::Duration};

use mcp_tools::{client::Lifecycle, secret::Secret};
use reqwest::StatusCode;
use serde_json::json;
use tokio::process::Command;

use crate::{
    agent::{call, connect},
    node::Node,
    program::{Listening, example, run},
};

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const SCRIPT: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// The time limit for one run of the suite.
const LIMIT: Duration = Duration::from_secs(240);

/// The number of times that a scenario which failed beside all others is repeated alone.
///
/// The suite runs the scenarios of a version all at once, and some of them measure pauses of half a second: on a busy
/// machine a request that was sent early arrives late, and is taken for another one.
const ALONE: usize = 3;

/// Runs the scenarios that a version requires; returns how many passed, and how many there are.
async fn passed(role: &[&str], version: &str) -> (usize, usize) {
    let (_, said) = suite(role, &["--requirements", version]).await;
    let mut scored = scored(&said);
    for (name, passed) in scored.iter_mut().filter(|(_, passed)| !**passed) {
        *passed = passes_alone(role, name, version).await;
    }
    (scored.values().filter(|passed| **passed).count(), scored.len())
}

async fn passes_alone(role: &[&str], name: &str, version: &str) -> bool {
    let only = ["--scenario", name, "--spec-version", version];
    for _ in 0..ALONE {
        let (done, said) = suite(role, &only).await;
        if done {
            return true;
        }
        println!("{said}");
    }
    false
}

/// Runs the suite; returns whether all passed, and what it printed.
async fn suite(role: &[&str], selection: &[&str]) -> (bool, String) {
    let node = Node::with(SUITE).await;
    let results = tempfile::tempdir().unwrap();
    let mut suite = node.command(SCRIPT);
    suite.args(role).args(selection).arg("-o").arg(results.path());
    run(&mut suite, LIMIT).await
}

/// Returns the scenarios in the suite's summary, without those that it does not count.
fn scored(said: &str) -> BTreeMap<String, bool> {
    let (_, summary) = said.split_once("SUMMARY ===").unwrap_or_else(|| panic!("{said}"));
    let (counted, rest) = summary.split_once("Not scored for").unwrap_or((summary, ""));
    let mut scored: BTreeMap<String, bool> = counted.lines().filter_map(scenario).collect();
    for (name, _) in rest.lines().filter_map(scenario) {
        scored.remove(&name);
    }
    scored
}

/// Parses `✓ NAME: ..` or `✗ NAME (..)`.
fn scenario(line: &str) -> Option<(String, bool)> {
    let (mark, rest) = line.trim().split_once(' ')?;
    let name = rest.split([':', ' ']).next()?.to_owned();
    match mark {
        "✓" => Some((name, true)),
        "✗" => Some((name, false)),
        _ => None,
    }
}

async fn fixture() -> Listening {
    Listening::start(&mut Command::new(example("conformance_server"))).await
}

#[tokio::test]
async fn a_server_of_2025_11_25_conforms() {
    let fixture = fixture().await;
    let url = format!("{}/mcp", fixture.url);
    assert_eq!(passed(&["server", "--url", &url], "2025-11-25").await, (30, 30));
}

#[tokio::test]
async fn a_server_of_2026_07_28_conforms() {
    let fixture = fixture().await;
    let url = format!("{}/mcp", fixture.url);
    assert_eq!(passed(&["server", "--url", &url], "2026-07-28").await, (37, 37));
}

#[tokio::test]
async fn a_client_of_2025_11_25_conforms() {
    let client = example("conformance_client");
    let role = ["client", "--command", client.to_str().unwrap()];
    assert_eq!(passed(&role, "2025-11-25").await, (18, 18));
}

#[tokio::test]
async fn a_client_of_2026_07_28_conforms() {
    let client = example("conformance_client");
    let role = ["client", "--command", client.to_str().unwrap()];
    assert_eq!(passed(&role, "2026-07-28").await, (32, 32));
}

/// The suite accepts any text as an answer and cannot send a token, so these two points are tested here.
#[tokio::test]
async fn the_fixture_answers_itself_and_behind_the_door_only() {
    let fixture = fixture().await;
    let closed = format!("{}/closed/mcp", fixture.url);
    let refused = reqwest::Client::new().post(&closed).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let token = Secret::new("conformance");
    let client = connect(&closed, &token, Lifecycle::Initialize).await.unwrap();
    let answer = call(&client, "test_simple_text", &json!({})).await;
    let text = &answer.content[0].as_text().unwrap().text;
    assert_eq!(text, "This is a simple text response for testing.");
}

#[tokio::test]
async fn a_world_of_ones_own_is_worked_in() {
    let limit = Duration::from_secs(120);
    let (done, said) = run(&mut Command::new(example("own_environment")), limit).await;
    assert!(done && said.contains("reward 1"), "{said}");
}
