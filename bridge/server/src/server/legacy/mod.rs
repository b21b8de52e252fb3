//! Serves the dialects before A2A 0.2 that have paths of their own, with the feature `legacy`.
//!
//! - [`card_fields`]: the fields of 0.1 in cards
//! - [`execute`]: skills as methods at `POST {base}/execute`
//! - [`python_a2a`]: A2A 0.1 as python-a2a uses it

pub(super) mod card_fields;
mod execute;
mod python_a2a;

use axum::{
    Router,
    routing::{get, post},
};
use bridge_protocol::dialect::places;

use super::{
    card::before,
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
