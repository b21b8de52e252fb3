//! Tests of the whole way from text to model, and what the tests beside the code share.

mod golden;
mod properties;

use std::path::Path;

use super::{model::Scenario, parse};

/// The scenario that `a.toml` with this text holds.
pub(crate) fn scenario_of(text: &str) -> Scenario {
    parse(Path::new("a.toml"), text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// What is wrong with an `a.toml` of this text.
pub(super) fn errors_of(text: &str) -> String {
    match parse(Path::new("a.toml"), text) {
        Ok(scenario) => panic!("there is nothing wrong with {scenario:?}"),
        Err(errors) => errors.to_string(),
    }
}
