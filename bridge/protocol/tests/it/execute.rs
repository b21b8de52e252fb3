//! Reads the documents of agents that call skills as methods, and writes them again.

use std::path::Path;

use bridge_protocol::{
    dialect::{
        card,
        execute::{self, ExecuteError},
        skill::SkillCall,
    },
    jsonrpc::{Id, Request, Response},
    wire::{Wire as _, to_value},
};
use serde_json::Value;

fn document(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/wire/execute");
    let text = std::fs::read(Path::new(folder).join(name)).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn the_card_is_a_card_and_comes_back() {
    let written = document("plan-card.json");
    let (agent, _) = card::read(written.clone()).unwrap();
    insta::assert_json_snapshot!(agent);
    let back = execute::card::from_v1(&agent, "http://localhost:8001");
    for key in ["name", "url", "version"] {
        assert_eq!(back[key], written[key], "{key}");
    }
    for (key, value) in written["skills"][0].as_object().unwrap() {
        assert_eq!(&back["skills"][0][key], value, "{key}");
    }
}

#[test]
fn the_request_is_a_message_and_comes_back() {
    let written = document("request.json");
    let Request { id, method, params } = Request::from_value(written.clone()).unwrap();
    let call = SkillCall::from_request(&method, params).unwrap();
    let message = call.to_message("m-1", None);
    insta::assert_json_snapshot!(message);
    let call = SkillCall::from_message(&message).unwrap();
    assert_eq!(to_value(&call.to_request(id)), written);
}

#[test]
fn errors_are_distinguished_and_round_trip() {
    for (name, error) in [
        ("error-unknown-skill.json", ExecuteError::UnknownSkill("unknown_skill_id".into())),
        (
            "error-invalid-parameters.json",
            ExecuteError::InvalidParameters("missing required field 'requirements'".into()),
        ),
        ("error-execution-failed.json", ExecuteError::ExecutionFailed("Claude API timeout".into())),
    ] {
        let written = document(name);
        let response = Response::read(written.clone()).unwrap();
        assert_eq!(ExecuteError::from_rpc(response.outcome.unwrap_err()), error);
        let response: Response<Value> =
            Response { id: Id::String("orch".into()), outcome: Err(error.to_rpc()) };
        assert_eq!(to_value(&response), written, "{name}");
    }
}
