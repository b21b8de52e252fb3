//! Fixtures for tests.

use std::path::Path;

use crate::{model::Scenario, parse};

/// Returns the scenario of an `a.toml` with this text.
///
/// # Panics
/// If there is a mistake in it.
pub fn scenario_of(text: &str) -> Scenario {
    parse(Path::new("a.toml"), text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}
