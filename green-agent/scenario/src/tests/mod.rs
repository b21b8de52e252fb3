//! Tests of the parser from text to model, and fixtures for the tests beside the code.

mod golden;
mod properties;

use std::path::Path;

use super::parse;
pub(super) use super::testing::scenario_of;

/// Returns the errors of an `a.toml` with this text.
pub(super) fn errors_of(text: &str) -> String {
    match parse(Path::new("a.toml"), text) {
        Ok(scenario) => panic!("there is nothing wrong with {scenario:?}"),
        Err(errors) => errors.to_string(),
    }
}
