//! Reads every document under `snapshots/wire` and writes it again.
//!
//! The documents come from other implementations: agents of AgentBeats, the official SDKs, the specification.
//! Each is recognized by its content, read in its version, and written in both versions with the losses for
//! 0.3. Written in its own version it must contain everything that it had.

use std::path::Path;

use bridge_protocol::{
    dialect::{Losses, Version, card},
    jsonrpc::{Request, Response},
    wire::{Wire, to_value},
};
use serde_json::{Value, json};

/// A document in both versions.
struct Translated {
    /// The type of the document.
    is: String,
    /// The version of the document.
    version: Version,
    v0_3: Value,
    v1_0: Value,
    losses: Losses,
}

#[test]
fn come_back() {
    insta::glob!(
        "../../../../snapshots/wire",
        "{agentbeats,sdk,specification}/**/*.json",
        |path| {
            let document = read(path);
            let translated = translate(&document);
            let own = match translated.version {
                Version::V0_1 => panic!("{} is told to be of 0.1", path.display()),
                Version::V0_3 => &translated.v0_3,
                Version::V1_0 => &translated.v1_0,
            };
            assert_holds(own, payload(&document), &translated.is);
            insta::assert_json_snapshot!(shown(&translated));
        }
    );
}

fn read(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the content of the envelope, if there is one.
fn payload(document: &Value) -> &Value {
    let inside = ["params", "result", "error"].iter().find_map(|key| document.get(*key));
    match inside {
        Some(payload) => payload,
        None if document.get("method").is_some() => &Value::Null,
        None => document,
    }
}

fn translate(document: &Value) -> Translated {
    if document.get("jsonrpc").is_none() {
        return translate_card(document);
    }
    if document.get("method").is_some() {
        return translate_request(document);
    }
    let response = Response::read(document.clone()).unwrap();
    match response.outcome {
        Ok(result) => translate_result(&result),
        Err(error) => {
            // An error has the same form in both; its details are the agent's own.
            let kind = error.kind().map(|kind| kind.reason());
            Translated {
                is: format!("error {}", kind.unwrap_or("of the agent's own")),
                version: Version::V1_0,
                v0_3: Value::Null,
                v1_0: to_value(&error),
                losses: Losses::new(),
            }
        }
    }
}

fn translate_card(document: &Value) -> Translated {
    let (agent, generation) = card::read(document.clone()).unwrap();
    let mut losses = Losses::new();
    Translated {
        is: format!("card of generation {generation:?}"),
        version: generation.version().unwrap(),
        v0_3: card::to_v0_3(&agent, &mut losses),
        v1_0: to_value(&agent),
        losses,
    }
}

fn translate_request(document: &Value) -> Translated {
    let request = Request::from_value(document.clone()).unwrap();
    let spoken = |version: Version| Some((version, version.operation(&request.method)?));
    let (version, operation) = [Version::V0_3, Version::V1_0].into_iter().find_map(spoken).unwrap();
    let call = version.params_to_v1(operation, request.params, "m").unwrap();
    let mut losses = Losses::new();
    Translated {
        is: format!("parameters of {operation}"),
        version,
        v0_3: Version::V0_3.params_from_v1(&call, &mut losses),
        v1_0: Version::V1_0.params_from_v1(&call, &mut losses),
        losses,
    }
}

fn translate_result(result: &Value) -> Translated {
    let mut losses = Losses::new();
    let has = |key| result.get(key).is_some();
    let (is, version, v0_3, v1_0) = if has("kind") {
        let item = Version::V0_3.stream_item_to_v1(result.clone()).unwrap();
        let v0_3 = Version::V0_3.stream_item_from_v1(&item, &mut losses);
        ("stream item or result", Version::V0_3, v0_3, to_value(&item))
    } else if has("status") {
        let task = Version::V1_0.task_to_v1(result.clone()).unwrap();
        let v0_3 = Version::V0_3.task_from_v1(&task, &mut losses);
        ("task", Version::V1_0, v0_3, to_value(&task))
    } else if has("tasks") {
        let list: bridge_protocol::a2a::ListTasksResponse =
            serde_json::from_value(result.clone()).unwrap();
        ("list of tasks", Version::V1_0, Value::Null, to_value(&list))
    } else {
        let item = Version::V1_0.stream_item_to_v1(result.clone()).unwrap();
        let v0_3 = Version::V0_3.stream_item_from_v1(&item, &mut losses);
        ("stream item or result", Version::V1_0, v0_3, to_value(&item))
    };
    Translated { is: is.into(), version, v0_3, v1_0, losses }
}

fn shown(translated: &Translated) -> Value {
    let losses = translated.losses.iter().map(ToString::to_string);
    json!({
        "is": translated.is,
        "written in": translated.version.as_str(),
        "0.3": translated.v0_3,
        "1.0": translated.v1_0,
        "0.3 cannot say": losses.collect::<Vec<String>>(),
    })
}

/// Checks that everything in `before` is in `after`, except null, `false` and empty lists.
fn assert_holds(after: &Value, before: &Value, at: &str) {
    match (after, before) {
        (_, Value::Null) => {}
        (Value::Object(after), Value::Object(before)) => {
            for (key, value) in before.iter().filter(|(_, value)| !says_nothing(value)) {
                // The main interface is repeated only if the repetition has more fields.
                if key == "additionalInterfaces" {
                    continue;
                }
                let at = format!("{at}/{key}");
                let Some(after) = after.get(key) else {
                    panic!("{at} is lost");
                };
                assert_holds(after, value, &at);
            }
        }
        (Value::Array(after), Value::Array(before)) => {
            assert_eq!(after.len(), before.len(), "{at}");
            for (index, (after, before)) in after.iter().zip(before).enumerate() {
                assert_holds(after, before, &format!("{at}/{index}"));
            }
        }
        (after, before) => assert_eq!(after, before, "{at}"),
    }
}

fn says_nothing(value: &Value) -> bool {
    value.is_null()
        || *value == json!(false)
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(serde_json::Map::is_empty)
}
