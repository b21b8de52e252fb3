//! Reads the documents of the simplest agents of 0.3 (`snapshots/wire/minimal`): cards with a list of schemes
//! and default modes under Python's names, a message without `kind`, and a wrapped task with a flat state.

use bridge_protocol::{
    a2a::Operation,
    dialect::{Call, Losses, Version, card},
    wire::to_value,
};
use serde_json::{Value, json};

#[test]
fn are_understood() {
    insta::glob!("../../../../snapshots/wire/minimal", "*.json", |path| {
        let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        insta::assert_json_snapshot!(understood(document));
    });
}

fn understood(mut document: Value) -> Value {
    let (params, result) = (document["params"].take(), document["result"].take());
    if params.is_object() {
        let read = Version::V0_3.params_to_v1(Operation::SendMessage, params, "");
        let Call::SendMessage(request) = read.unwrap() else {
            panic!("another operation was read");
        };
        return to_value(&request);
    }
    if result.is_object() {
        return to_value(&Version::V0_3.send_result_to_v1(result).unwrap());
    }
    for key in ["params", "result"] {
        document.as_object_mut().unwrap().remove(key);
    }
    let (read, generation) = card::read(document).unwrap();
    let (v1_0, v0_3) = (to_value(&read), card::to_v0_3(&read, &mut Losses::new()));
    json!({"generation": format!("{generation:?}"), "1.0": v1_0, "0.3": v0_3})
}
