//! Adds the numbers that the environment lists.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{CallHistory, NextMove};

pub(super) const LIST_NUMBERS: &str = "list_numbers";

pub(super) fn next(history: CallHistory<'_>) -> NextMove {
    let Some(data) = history.data(&[LIST_NUMBERS]) else {
        return NextMove::Call(LIST_NUMBERS, JsonObject::new());
    };
    let numbers = data["numbers"].as_array();
    let sum = numbers.and_then(|numbers| numbers.iter().map(Value::as_i64).sum::<Option<i64>>());
    match sum {
        Some(sum) => NextMove::Submit(Some(json!(sum))),
        None => NextMove::GiveUp(format!("expected a list of numbers, found {data}")),
    }
}
