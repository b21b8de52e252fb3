//! The OpenAPI document says what is served, and `schemathesis` finds nothing that it does not say.

use std::{collections::BTreeSet, fs, time::Duration};

use axum::http::StatusCode;
use serde_json::Value;
use tokio::process::Command;

use crate::{
    app::{app, get, post, text},
    program::{Bridge, run},
    venv,
};

/// Longer than schemathesis takes on a machine that has much else to do.
const LIMIT: Duration = Duration::from_secs(300);

async fn document() -> Value {
    let response = get(&app().await, "/openapi.json", None).await;
    assert_eq!(response.status(), StatusCode::OK);
    serde_json::from_str(&text(response).await).unwrap()
}

#[tokio::test]
async fn every_operation_is_described() {
    let document = document().await;
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        let methods = methods.filter(|(method, _)| *method != "servers");
        methods.map(move |(method, operation)| {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let names: Vec<&str> = parameters
                .filter(|parameter| parameter["in"] != "header")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            let id = operation["operationId"].as_str().unwrap();
            format!("{} {path}\n  {id} ({})", method.to_uppercase(), names.join(", "))
        })
    });
    insta::assert_snapshot!(operations.collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = document().await;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let known: BTreeSet<String> = schemas.keys().cloned().collect();
    let mut named = BTreeSet::new();
    references(&document, &mut named);
    assert_eq!(named, known);
    let validator = jsonschema::options().build(&serde_json::json!({
        "components": document["components"],
        "$ref": "#/components/schemas/SendMessageRequest",
    }));
    let validator = validator.unwrap();
    let mut said = crate::app::say("m-1", "hi");
    assert!(validator.is_valid(&said));
    said["message"]["parts"][0]["text"] = 7.into();
    assert!(!validator.is_valid(&said));
}

#[tokio::test]
async fn every_example_is_answered() {
    let app = app().await;
    let document = document().await;
    let server = document["servers"][0]["url"].as_str().unwrap();
    let own = server.strip_prefix("http://localhost:3978").unwrap();
    let mut sent = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let content = item["post"]["requestBody"]["content"].as_object();
        for (media_type, body) in content.into_iter().flatten() {
            let Some(example) = body.get("example") else { continue };
            let path = path.replace("{tenant}", "acme");
            let response =
                post(&app, &format!("{own}{path}"), &[("content-type", media_type)], example).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert!(text(response).await.contains("Hello"), "{path}");
            sent.push(path);
        }
    }
    sent.dedup();
    let sends = |below: &str| ["send", "stream"].map(|how| format!("{below}/message:{how}"));
    let expected = [vec!["/".into()], sends("").into(), sends("/v1").into(), sends("/acme").into()];
    assert_eq!(sent, expected.concat());
}

/// Tools such as dredd send no request to a path without them.
#[tokio::test]
async fn every_example_in_a_path_leads_to_its_operation() {
    let (app, document) = (app().await, document().await);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let mut address = format!("/a2a/echo{path}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let (name, example) = (&parameter["name"], &parameter["example"]);
                let place = format!("{{{}}}", name.as_str().unwrap());
                address = address.replace(&place, example.as_str().unwrap_or(&place));
            }
            assert!(!address.contains('{'), "{method} {path}");
            if method == "get" && path.contains("{id}") {
                let response = get(&app, &address, None).await;
                assert!(text(response).await.contains("TASK_NOT_FOUND"), "{address}");
            }
        }
    }
}

fn references(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(way) = members.get("$ref").and_then(Value::as_str) {
                named.extend(way.strip_prefix("#/components/schemas/").map(str::to_owned));
            }
            members.values().for_each(|member| references(member, named));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn the_page_needs_nothing_from_elsewhere() {
    let response = get(&app().await, "/docs", None).await;
    let policy = response.headers()["content-security-policy"].clone();
    assert!(policy.to_str().unwrap().starts_with("default-src 'none'"));
    let page = text(response).await;
    assert!(!page.contains("://") && !page.contains("innerHTML"));
}

/// Real requests, in order and out of it, against a real bridge: none breaks it, and none is answered with
/// what the document does not say.
#[tokio::test]
async fn schemathesis_finds_nothing() {
    let bridge = Bridge::serve(&["--store", "memory", "--builtin", "sample"]);
    let program = venv::with(&["schemathesis==4.32.5"]).await.join("bin/schemathesis");
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/schemathesis.toml");
    let mut command = Command::new(program);
    command.args(["--config-file", settings, "run", "--url"]);
    command.arg(format!("{}/a2a/sample", bridge.url()));
    command.arg(format!("{}/openapi.json", bridge.url()));
    let (passed, said) = run(&mut command, LIMIT).await;
    assert!(passed, "schemathesis found something:\n{said}");
}

/// A generator of clients understands the whole document, and the client finds an agent that answers.
#[tokio::test]
async fn a_client_for_python_is_generated() {
    let bridge = Bridge::serve(&["--store", "memory", "--builtin", "sample"]);
    let venv = venv::with(&["openapi-python-client==0.29.1"]).await;
    let folder = tempfile::tempdir().unwrap();
    let (generated, settings) = (folder.path().join("generated"), folder.path().join("settings"));
    fs::write(&settings, "post_hooks: []").unwrap(); // They only format what was generated.
    let mut command = Command::new(venv.join("bin/openapi-python-client"));
    command.args(["generate", "--meta", "none", "--fail-on-warning", "--url"]);
    command.arg(format!("{}/openapi.json", bridge.url())).arg("--output-path").arg(&generated);
    command.arg("--config").arg(&settings);
    let (passed, said) = run(&mut command, LIMIT).await;
    assert!(passed, "the generator did not understand something:\n{said}");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/generated_client.py");
    let mut command = Command::new(venv.join("bin/python"));
    command.arg(program).arg(format!("{}/a2a/sample", bridge.url()));
    command.env("PYTHONPATH", folder.path());
    let (passed, said) = run(&mut command, LIMIT).await;
    assert!(passed, "the generated client failed:\n{said}");
}
