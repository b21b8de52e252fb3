//! Serves the dialects before A2A 0.2 that have paths of their own, with the feature `legacy`.
//!
//! - [`execute`]: skills as methods at `POST {base}/execute`
//! - [`python_a2a`]: A2A 0.1 as python-a2a uses it

mod execute;
mod python_a2a;

use axum::{
    Router,
    routing::{get, post},
};
use bridge_protocol::{
    a2a::AgentCard,
    dialect::{card, places},
};
use serde_json::{Value, json};

use super::{
    card::before,
    render,
    rest::{self, MountedAgent},
};

/// Adds the routes of operations below `path`.
pub(super) fn with_operations(router: Router<MountedAgent>, path: &str) -> Router<MountedAgent> {
    let at = |rest: &str| format!("{path}{rest}");
    let call = || post(python_a2a::call).fallback(rest::handle);
    let send = post(python_a2a::send).fallback(rest::handle);
    router
        .route(&at("/tasks/send"), send)
        .route(&at("/tasks/get"), call())
        .route(&at("/tasks/cancel"), call())
        .route(&at("/execute"), post(execute::post))
}

/// Adds the routes of cards below `path`.
pub(super) fn with_cards(router: Router<MountedAgent>, path: &str) -> Router<MountedAgent> {
    router
        .route(&places::below(path, places::PYTHON), get(before))
        .route(&places::below(path, places::EXECUTE), get(execute::card))
}

/// Adds the fields of 0.1 to a card's document. For clients of python-a2a, whose methods have a path each, it also gets
/// `base_url`, the address of these paths, and an `authentication` of type `none`.
pub(super) fn with_card_fields(mut document: Value, card: &AgentCard) -> Value {
    let old = render::translated(|losses| card::to_v0_1(card, losses));
    if let (Value::Object(document), Value::Object(old)) = (&mut document, old) {
        for (key, value) in old {
            document.entry(key).or_insert(value);
        }
        let url = document.get("url").cloned().unwrap_or_default();
        document.insert("base_url".to_owned(), url);
        let open = || json!({"type": "none", "schemes": []});
        document.entry("authentication").or_insert_with(open);
    }
    document
}
