//! Tests `bridge discover` and `bridge registry` from the command line.

#[expect(dead_code, reason = "the client's own tests stop it and start it again")]
#[path = "../../client/tests/it/registry/program.rs"]
mod registry_program;

use std::{fs, time::Duration};

use bridge_client::{
    Options,
    discovery::{Discovered, DiscoveryOptions, discover},
    invocation::{Invocation, State, invoke},
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::{
    program::{Bridge, run},
    terminal::bridge,
    venv,
};
use registry_program::Program;

const LIMIT: Duration = Duration::from_secs(300);

/// Two agents; the first has a skill with schemas.
fn serve() -> (TempDir, Bridge) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let config = r#"
store = "memory"
grpc = { card = true }

[[agents]]
name = "plan"
builtin = "echo"

[[agents.card.skills]]
id = "create_plan"
description = "Creates plans"
input_schema = { type = "object", properties = { requirements = { type = "string" } }, required = ["requirements"] }

[[agents]]
name = "talk"
builtin = "sample"
"#;
    fs::write(&file, config).unwrap();
    let bridge = Bridge::serve(&["--config", file.to_str().unwrap()]);
    (folder, bridge)
}

async fn said(arguments: &[&str]) -> (bool, String) {
    run(&mut bridge(arguments), LIMIT).await
}

async fn json_of(arguments: &[&str]) -> Value {
    let (done, said) = said(&[&["discover", "--json"], arguments].concat()).await;
    assert!(done, "{said}");
    serde_json::from_str(&said).unwrap()
}

fn names(agents: &Value) -> Vec<&str> {
    let agents = agents["agents"].as_array().unwrap().iter();
    agents.map(|agent| agent["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn agents_and_their_skills_are_shown() {
    let (_folder, server) = serve();
    let url = server.url();
    let (done, table) = said(&["discover", url]).await;
    assert!(done, "{table}");
    let first = format!("plan 1.0.0  speaks JSONRPC 1.0 at {url}/a2a\n");
    assert!(table.starts_with(&first), "{table}");
    assert!(
        table.contains("\n  create_plan  requirements: string  text   Creates plans\n"),
        "{table}"
    );
    let catalogue = format!("{url}/a2a/catalog");
    for (arguments, expected) in [
        (vec![url], vec!["plan"]),
        (vec![&catalogue], vec!["plan", "talk"]),
        (vec![&catalogue, "--skill", "create_plan"], vec!["plan"]),
    ] {
        assert_eq!(names(&json_of(&arguments).await), expected, "{arguments:?}");
    }
    let skill = json_of(&[url]).await["agents"][0]["skills"][0].clone();
    assert_eq!(skill["parameters_schema"]["required"], json!(["requirements"]));
}

#[tokio::test]
async fn failures_are_reported_with_advice() {
    let (_folder, server) = serve();
    let url = server.url();
    let nowhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", nowhere.local_addr().unwrap());
    drop(nowhere);
    let health = format!("{url}/healthz");
    for (arguments, told) in [
        (vec![url, "--skill", "fly"], "has the skill \"fly\": looked at plan (create_plan)"),
        (vec![&gone], "is it running, and is the port right?"),
        (vec!["localhost:1"], "is it running, and is the port right?"),
        (vec!["plan"], "is it https://plan or http://plan?"),
        (vec!["ftp://h"], "found one of \"ftp\""),
        (vec![url, "--bearer-env", "BRIDGE_NO_SUCH"], "BRIDGE_NO_SUCH"),
        (vec!["oci://registry.test:x"], "expected a registry"),
    ] {
        let (done, said) = said(&[&["discover"], &arguments[..]].concat()).await;
        assert!(!done && said.contains(told), "{arguments:?}: {said}");
    }
    assert_eq!(names(&json_of(&[&health]).await), ["plan"]);
}

#[tokio::test]
async fn a_remark_about_a_card_contains_no_password() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://me:hunter2@{}/", listener.local_addr().unwrap());
    let card = json!({"name": "n", "url": "http://h.test/", "skills": [{"id": 7}]});
    let app = axum::Router::new().fallback(async move || card.to_string());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let (done, told) = said(&["discover", &url]).await;
    assert!(done && told.contains("does not follow") && !told.contains("hunter2"), "{told}");
}

#[tokio::test]
async fn cards_go_to_a_registry_and_are_found_there() {
    let registry = Program::start().await;
    let host = registry.host();
    let (folder, server) = serve();
    let card = folder.path().join("card.json");
    let address = format!("{}/a2a/plan", server.url());
    let (_, text) = said(&["discover", "--json", &address]).await;
    let agent: Value = serde_json::from_str(&text).unwrap();
    let document = json!({
        "name": "plan", "url": address, "version": "1.0.0",
        "skills": [{"id": "create_plan", "input_schema": agent["agents"][0]["skills"][0]["parameters_schema"]}],
    });
    fs::write(&card, document.to_string()).unwrap();
    let reference = format!("{host}/agents/plan:v1");
    let (done, digest) = said(&["registry", "push", card.to_str().unwrap(), &reference]).await;
    assert!(done && digest.starts_with("sha256:"), "{digest}");
    let digest = digest.trim();

    let (done, listed) = said(&["registry", "list", host]).await;
    assert!(done, "{listed}");
    assert_eq!(listed, format!("agents/plan:v1  plan  {digest}\n"));
    let by_digest = format!("{host}/agents/plan@{digest}");
    for reference in [&reference, &by_digest] {
        let (done, pulled) = said(&["registry", "pull", reference]).await;
        assert!(done, "{pulled}");
        assert_eq!(serde_json::from_str::<Value>(&pulled).unwrap(), document);
    }

    let target = format!("oci://{host}");
    let found = json_of(&[&target, "--skill", "create_plan"]).await;
    assert_eq!(names(&found), ["plan"]);
    assert_eq!(found["agents"][0]["card"], format!("agents/plan:v1@{digest}"));
    assert_eq!(found["agents"][0]["speaks"], "execute");
    let (done, said) = said(&["discover", &target, "--skill", "fly"]).await;
    assert!(!done && said.contains("looked at agents/plan:v1 (create_plan)"), "{said}");
}

/// KNOWN.md describes how the SDK changes a message.
#[cfg(feature = "grpc")]
#[tokio::test]
async fn an_agent_that_offers_grpc_alone_is_called_over_it() {
    let (_folder, served) = serve();
    let place = format!("{}/.well-known/agent-card.json", served.url());
    let asked = reqwest::Client::new().get(&place).header("A2A-Version", "1.0");
    let card: Value = asked.send().await.unwrap().json().await.unwrap();
    for version in ["1.0", "0.3"] {
        let mut card = card.clone();
        let interfaces = card["supportedInterfaces"].as_array_mut().unwrap();
        interfaces
            .retain(|one| one["protocolBinding"] == "GRPC" && one["protocolVersion"] == version);
        assert_eq!(interfaces.len(), 1);
        let found = Discovered::from_card(card, place.parse().unwrap()).unwrap();
        assert_eq!(found.endpoint.name(), format!("GRPC {version}"));
        let said = Invocation::of_words(version, "hello");
        let outcome = invoke(&found, &said, &Options::default()).await.unwrap();
        assert_eq!((outcome.state, outcome.text.as_str()), (State::InputRequired, "Echo: hello"));
    }
}

#[tokio::test]
async fn agents_of_python_a2a_are_discovered_and_invoked() {
    let python = venv::with(&["python-a2a==0.5.10"]).await.join("bin/python");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/python_a2a_server.py");
    let server = Bridge::listening(std::process::Command::new(python).arg(program));
    let options = DiscoveryOptions { allow_private: true, ..DiscoveryOptions::default() };
    let club = discover(&server.url().parse().unwrap(), &options).await.unwrap();
    assert_eq!(club.endpoint.name(), "tasks/send 0.1");
    let skill = "check_team_availability_v1";
    let call = |id: &str, parameters| Invocation::new(id, skill, parameters);
    let age = |age: Value| Map::from_iter([("age".to_owned(), age)]);

    let asked = call("m-1", age(json!(10))).saying("Can my 10-year-old son Seb join?");
    let answered = invoke(&club, &asked, &Options::default()).await.unwrap();
    let lions =
        json!({"has_vacancy": true, "team_name": "U10 Lions", "contact": "coach@example.com"});
    assert_eq!((answered.state, answered.result_data), (State::Completed, Some(lions)));

    let told =
        Invocation { parameters: None, ..call("m-2", Map::new()) }.saying("Can my son join?");
    let answered = invoke(&club, &told, &Options::default()).await.unwrap();
    assert_eq!(answered.text, "How old is the child?");

    let wrong = call("m-3", age(json!("ten")));
    let error = invoke(&club, &wrong, &Options::default()).await.unwrap_err();
    assert!(error.to_string().contains("/age: \"ten\" is not of type"), "{error}");
}

/// The Python program of the `oras` project pushes and pulls as its other programs do.
#[tokio::test]
async fn cards_that_oras_pushed_are_found_and_ours_are_pulled_by_it() {
    let registry = Program::start().await;
    let host = registry.host();
    let folder = tempfile::tempdir().unwrap();
    let card = json!({"name": "plan-agent", "url": "http://localhost:8001", "version": "1.0.0", "skills": [
        {"id": "create_plan", "description": "d", "input_schema": {"type": "object"}},
    ]});
    fs::write(folder.path().join("plan_agent_card.json"), card.to_string()).unwrap();
    let python = venv::with(&["oras==0.2.43"]).await.join("bin/python");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/oras_cards.py");
    let oras = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(&python);
        let command = command.arg(program).args(arguments);
        let (done, said) = run(command.current_dir(folder.path()), LIMIT).await;
        assert!(done, "{said}");
    };
    let (theirs, ours) = (format!("{host}/agents/plan:v1"), format!("{host}/agents/ours:v1"));
    oras(&["push", &theirs, "plan_agent_card.json"]).await;
    let (done, pulled) = said(&["registry", "pull", &theirs]).await;
    assert!(done, "{pulled}");
    assert_eq!(serde_json::from_str::<Value>(&pulled).unwrap(), card);

    let file = folder.path().join("plan_agent_card.json");
    let (done, pushed) = said(&["registry", "push", file.to_str().unwrap(), &ours]).await;
    assert!(done, "{pushed}");
    oras(&["pull", &ours]).await;
    let pulled = fs::read(folder.path().join("agent-card.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&pulled).unwrap(), card);
}
