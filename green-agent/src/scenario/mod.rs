//! Scenario files: `scenario.toml` as AgentBeats has it, plus the table `[harness]`.

pub mod expectation;
pub mod model;
