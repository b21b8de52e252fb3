//! Reads the documents of 0.1 under `snapshots/wire/v0_1` and writes them again: output of python-a2a,
//! examples of the specification before 0.2, and forms derived from them.

use std::path::Path;

use bridge_protocol::{
    a2a::SendMessageResponse,
    dialect::{Call, Losses, Version, card},
    jsonrpc::{Request, Response},
    wire::{Wire, to_value},
};
use serde_json::{Value, json};

const V0_1: Version = Version::V0_1;

/// The id for messages without one.
const GIVEN: &str = "given";

#[test]
fn come_back() {
    insta::glob!("../../../../snapshots/wire/v0_1", "*.json", |path| {
        insta::assert_json_snapshot!(shown(&read(path)));
    });
}

fn read(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the type of the document, and its form in 0.1 and 1.0.
fn shown(document: &Value) -> Value {
    let has = |key| document.get(key).is_some();
    match (has("method"), has("error"), has("result")) {
        (true, _, _) => shown_request(document),
        (_, true, _) => shown_error(document),
        (_, _, true) => shown_reply(document),
        _ if has("message") && !has("artifacts") => {
            let operation = V0_1.operation("tasks/send").unwrap();
            let call = V0_1.params_to_v1(operation, document.clone(), GIVEN);
            shown_call(&call.unwrap())
        }
        _ if has("name") => shown_card(document),
        _ => shown_item(document),
    }
}

fn shown_request(document: &Value) -> Value {
    let request = Request::from_value(document.clone()).unwrap();
    let operation = V0_1.operation(&request.method).unwrap();
    shown_call(&V0_1.params_to_v1(operation, request.params, GIVEN).unwrap())
}

fn shown_call(call: &Call) -> Value {
    let mut losses = Losses::new();
    let older = V0_1.params_from_v1(call, &mut losses);
    let again = V0_1.params_to_v1(call.operation(), older.clone(), GIVEN);
    let name = call.operation().name();
    // Fields that 0.1 does not have or that it requires were reported as losses.
    if losses.is_empty() {
        assert_eq!(&again.unwrap(), call);
    }
    let newer = Version::V1_0.params_from_v1(call, &mut Losses::new());
    both(&format!("parameters of {name}"), &older, &newer, &losses)
}

fn shown_error(document: &Value) -> Value {
    let error = Response::read(document.clone()).unwrap().outcome.unwrap_err();
    let kind = error.kind().map(|kind| kind.reason());
    json!({"is": "error", "kind": kind, "error": to_value(&error)})
}

/// Returns a reply as the snapshot shows it. An answer with a wrapped task comes from an agent of 0.3.
fn shown_reply(document: &Value) -> Value {
    let result = Response::read(document.clone()).unwrap().outcome.unwrap();
    if result.get("final").or(result.get("artifact")).is_some() {
        return shown_item(&result);
    }
    let version = match result.get("task") {
        Some(_) => Version::V0_3,
        None => V0_1,
    };
    let answer = version.send_result_to_v1(result).unwrap();
    let mut losses = Losses::new();
    let older = V0_1.send_result_from_v1(&answer, &mut losses);
    assert_eq!(V0_1.send_result_to_v1(older.clone()), Ok(answer.clone()));
    let SendMessageResponse::Task(task) = &answer else {
        panic!("{document} is no task");
    };
    both("task", &older, &to_value(task), &losses)
}

fn shown_item(document: &Value) -> Value {
    let item = V0_1.stream_item_to_v1(document.clone()).unwrap();
    let mut losses = Losses::new();
    let older = V0_1.stream_item_from_v1(&item, &mut losses);
    assert_eq!(V0_1.stream_item_to_v1(older.clone()).as_ref(), Ok(&item));
    both("stream item", &older, &to_value(&item), &losses)
}

fn shown_card(document: &Value) -> Value {
    let (agent, generation) = card::read(document.clone()).unwrap();
    let mut losses = Losses::new();
    let older = card::to_v0_1(&agent, &mut losses);
    if losses.is_empty() {
        assert_eq!(card::read(older.clone()).as_ref(), Ok(&(agent.clone(), generation)));
    }
    let is = format!("card of generation {generation:?}");
    both(&is, &older, &to_value(&agent), &losses)
}

fn both(is: &str, older: &Value, newer: &Value, losses: &Losses) -> Value {
    let losses = losses.iter().map(ToString::to_string);
    json!({
        "is": is,
        "0.1": older,
        "1.0": newer,
        "0.1 cannot say": losses.collect::<Vec<String>>(),
    })
}
