//! Compares the schema with the kept file, and with scenario files.

use std::{fs, path::Path};

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::schema;
use crate::{parse, template::Template};

const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/scenario.schema.json");

/// Returns the text of a TOML file as JSON, to which the schema is applied.
fn to_json(text: &str) -> Value {
    let table: toml::Table = text.parse().unwrap();
    serde_json::to_value(table).unwrap()
}

fn is_valid(text: &str) -> bool {
    jsonschema::is_valid(&schema(), &to_json(text))
}

/// Set the environment variable `UPDATE_SCHEMA` to write the file again.
#[test]
fn the_kept_file_is_the_generated_one() {
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(KEPT, &text).unwrap();
    }
    let kept = fs::read_to_string(KEPT).unwrap();
    assert!(kept == text, "run this test with UPDATE_SCHEMA=1 and look at the difference");
}

#[test]
fn the_schema_is_a_schema() {
    jsonschema::draft202012::meta::validate(&schema()).unwrap();
    jsonschema::validator_for(&schema()).unwrap();
}

#[test]
fn every_key_is_described() {
    for (name, definition) in schema()["$defs"].as_object().unwrap() {
        assert!(definition["description"].is_string(), "{name}");
        let properties = definition["properties"].as_object();
        for (key, property) in properties.into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}.{key}");
        }
    }
}

#[test]
fn templates_are_valid() {
    for &template in Template::value_variants() {
        assert!(is_valid(template.text()), "{template:?}");
    }
}

#[test]
fn typical_mistakes_are_not() {
    let valid = to_json(Template::Conversation.text());
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (pointer, key, value) in [
        ("/harness", "trails", json!(1)),
        ("/harness", "version", json!(2)),
        ("/harness", "trials", json!(0)),
        ("/harness", "seed", json!(-1)),
        ("/harness", "ports", json!("any")),
        ("/harness", "requires", json!(["uv"])),
        ("/harness", "snapshot", json!({"redact": ["x"]})),
        ("/harness", "snapshot", json!("no")),
        ("/harness", "dataset", json!("rows.xlsx")),
        ("/harness", "matrix", json!({"model": []})),
        ("/harness", "matrix", json!({"model": [["a"]]})),
        ("/harness", "retries", json!({"infrastructure": -1})),
        ("/harness/timeout", "idle", json!("0s")),
        ("/harness/timeout", "idle", json!("30")),
        ("/harness/expect/0", "eq", json!(1)),
        ("/harness/expect/0", "hop", json!("a -> b")),
        ("/harness/expect/1", "on", json!("result")),
        ("/harness/expect/1", "sequence", json!([])),
        ("/participants/0", "role", json!("green")),
        ("/participants/0", "endpoint", json!("127.0.0.1:1")),
        ("/participants/0", "cmd", json!("run --green {green}")),
        ("/participants/0", "settings", json!({})),
        ("/config", "evaluator", json!("talk")),
        ("/config", "evaluator", json!("episode")),
        ("/config", "evaluator", json!("pipeline")),
        ("/config", "turn", json!([])),
        ("/config/turn/0", "parts", json!([{"text": "x"}])),
        ("/config/turn/0", "state", json!("done")),
        ("/config/turn/0", "after", json!("")),
        ("/config/turn/0", "version", json!(1.0)),
        ("/harness", "python", json!("3")),
    ] {
        let mut file = valid.clone();
        file.pointer_mut(pointer).unwrap()[key] = value;
        assert!(!validator.is_valid(&file), "{pointer}/{key}");
    }
    assert!(validator.is_valid(&valid));
}

#[test]
fn other_evaluators_have_a_config_of_their_own() {
    assert!(is_valid(
        "[green_agent]\nendpoint = 'http://h'\n[config]\nturn = 3\nevaluator = 'x'\n"
    ));
    assert!(!is_valid("[green_agent]\n[config]\nturn = 3\n"));
    assert!(!is_valid("[green_agent]\n"));
}

/// The schema accepts what the reader accepts, and rejects what the reader rejects.
#[test]
fn reader_and_schema_agree_on_values() {
    let agent = |keys: &str| {
        format!("[green_agent]\nendpoint = 'http://h'\ncmd = 'x'\n{keys}\n[harness]\nversion = 1\n")
    };
    let harness = |keys: &str| {
        format!("[green_agent]\nendpoint = 'http://h'\n[harness]\nversion = 1\n{keys}\n")
    };
    let taken = [
        agent("env = { A = 'x', B = 7, C = 1.5, D = true }"),
        agent("env = {}"),
        agent("env = 'inherit'"),
        agent("pass_env = ['A', 'B_*']"),
        agent("requires = ['python:uvicorn==0.54.0', 'command:sh']"),
        agent("python = '3.12'"),
        agent("agentbeats_id = ''"),
        harness("trials = 3\nseed = 7\nports = 'auto'"),
        harness("timeout = { idle = '30s', total = '2m' }"),
        harness("pass_score = 0.5"),
        harness("retries = { infrastructure = 2 }"),
        harness("matrix = { model = ['a', 1, true] }"),
    ];
    let refused = [
        agent("env = 'all'"),
        agent("env = { A = [] }"),
        agent("env = { A = {} }"),
        agent("env = ['A']"),
        agent("pass_env = 'A'"),
        agent("pass_env = ['A-B']"),
        agent("pass_env = ['*A']"),
        agent("requires = 'uv'"),
        agent("requires = ['uv']"),
        agent("python = 3.12"),
        agent("python = '3'"),
        harness("trials = 0"),
        harness("trials = '3'"),
        harness("seed = 1.5"),
        harness("ports = 9009"),
        harness("timeout = '30s'"),
        harness("pass_score = 'high'"),
    ];
    for (texts, is_taken) in [(&taken[..], true), (&refused[..], false)] {
        for text in texts {
            let read = parse(Path::new("a.toml"), text);
            assert_eq!(read.is_ok(), is_taken, "reader: {text}{read:?}");
            assert_eq!(is_valid(text), is_taken, "schema: {text}");
        }
    }
}
