//! Scenario files: `scenario.toml` as AgentBeats has it, plus the table `[harness]`.
//!
//! - [`model`], [`expectation`]: what a file says, as types
//! - [`parse`]: from text to model, through [`reader`], which keeps positions
//! - [`error`]: what is wrong with a file, and where
//! - [`files`]: from paths on the command line to files
//! - [`expected`]: the sidecars of files that must fail


pub mod error;
pub mod expectation;
pub mod expected;
pub mod files;
pub mod model;
pub mod parse;
mod reader;
#[cfg(test)]
mod tests;

pub use error::{Problem, ScenarioError, ScenarioErrors};
pub use parse::{parse, read};
