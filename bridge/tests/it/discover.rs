//! `bridge discover` and `bridge registry`, as people and programs see them.

#[path = "../../client/tests/it/registry/program.rs"]
mod registry_program;

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    program::{Bridge, run},
    terminal::bridge,
};
use registry_program::Program;

const LIMIT: Duration = Duration::from_secs(60);

/// Two agents; the first has a skill with schemas.
fn serve() -> (TempDir, Bridge) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let config = r#"
store = "memory"

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
    agents
        .map(|agent| agent["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn who_is_there_and_what_they_can_do_is_shown() {
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
    assert_eq!(
        skill["parameters_schema"]["required"],
        json!(["requirements"])
    );
}

#[tokio::test]
async fn what_went_wrong_is_told_with_what_to_do() {
    let (_folder, server) = serve();
    let url = server.url();
    let nowhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", nowhere.local_addr().unwrap());
    drop(nowhere);
    let health = format!("{url}/healthz");
    for (arguments, told) in [
        (
            vec![url, "--skill", "fly"],
            "has the skill \"fly\": looked at plan (create_plan)",
        ),
        (vec![&gone], "is it running, and is the port right?"),
        (
            vec!["localhost:1"],
            "expected an address that begins with http:// or https://",
        ),
        (vec!["plan"], "expected one such as http://localhost:3978"),
        (vec!["ftp://h"], "http:// or https://"),
        (
            vec![url, "--bearer-env", "BRIDGE_NO_SUCH"],
            "BRIDGE_NO_SUCH",
        ),
        (vec!["oci://registry.test:x"], "expected a registry"),
    ] {
        let (done, said) = said(&[&["discover"], &arguments[..]].concat()).await;
        assert!(!done && said.contains(told), "{arguments:?}: {said}");
    }
    assert_eq!(names(&json_of(&[&health]).await), ["plan"]);
}

#[tokio::test]
async fn cards_go_to_a_registry_and_are_found_there() {
    let registry = Program::start().await;
    let host = registry.url.authority();
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
    assert_eq!(
        found["agents"][0]["card"],
        format!("agents/plan:v1@{digest}")
    );
    assert_eq!(found["agents"][0]["speaks"], "execute");
    let (done, said) = said(&["discover", &target, "--skill", "fly"]).await;
    assert!(
        !done && said.contains("looked at agents/plan:v1 (create_plan)"),
        "{said}"
    );
}
