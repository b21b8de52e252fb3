//! Tests of the activities that a bot gets.

use bridge_protocol::{
    a2a::{Message, Task},
    activity::Activity,
    wire::{Wire, to_value},
};
use bridge_translate::{TranslationContext, full_activity, to_activity};
use serde_json::{Value, json};

use super::request;

#[test]
fn each_becomes_an_activity() {
    insta::glob!("requests/*.json", |path| {
        let case = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        insta::assert_json_snapshot!(to_value(&activity(&case)));
    });
}

fn activity(case: &Value) -> Activity {
    let turn = super::context(case);
    let task = json!({"id": "task-1", "contextId": "context-1",
        "status": {"state": "TASK_STATE_SUBMITTED"}});
    let task = Task::read(task).unwrap();
    if case.get("cancel").is_some() {
        return to_activity::cancel(&task, &turn);
    }
    if case.get("firstContact").is_some() {
        return to_activity::first_contact(&task, &turn);
    }
    message(case, &task, &turn)
}

fn message(case: &Value, task: &Task, turn: &TranslationContext) -> Activity {
    let message = Message::read(case["message"].clone()).unwrap();
    let activity = to_activity::message(&message, task, turn);
    let mut expected = message;
    if full_activity::is_used(&expected) {
        // The activity that it carries replaces its parts.
        expected.parts.clear();
        expected.metadata.as_mut().unwrap().remove(full_activity::EXTENSION);
    }
    assert_eq!(request::of(&activity), Some(expected));
    activity
}
