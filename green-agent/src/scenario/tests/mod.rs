//! Tests of the parser from text to model, and fixtures for the tests beside the code.

mod golden;
mod properties;

use std::path::Path;

use super::{model::Scenario, parse};

/// Returns the scenario of an `a.toml` with this text.
pub(crate) fn scenario_of(text: &str) -> Scenario {
    parse(Path::new("a.toml"), text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Returns the errors of an `a.toml` with this text.
pub(super) fn errors_of(text: &str) -> String {
    match parse(Path::new("a.toml"), text) {
        Ok(scenario) => panic!("there is nothing wrong with {scenario:?}"),
        Err(errors) => errors.to_string(),
    }
}
