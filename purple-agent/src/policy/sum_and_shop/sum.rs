//! Adds up the numbers that the environment lists.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{Move, Seen};

pub(super) const LIST_NUMBERS: &str = "list_numbers";

pub(super) fn next(seen: Seen<'_>) -> Move {
    let Some(data) = seen.data(&[LIST_NUMBERS]) else {
        return Move::Call(LIST_NUMBERS, JsonObject::new());
    };
    let numbers = data["numbers"].as_array();
    let sum = numbers.and_then(|numbers| numbers.iter().map(Value::as_i64).sum::<Option<i64>>());
    match sum {
        Some(sum) => Move::Submit(Some(json!(sum))),
        None => Move::GiveUp(format!("expected a list of numbers, found {data}")),
    }
}
