//! Scenario files: `scenario.toml` as AgentBeats has it, plus the table `[harness]`.
//!
//! - [`model`], [`episode`], [`pipeline`], [`expectation`]: what a file says, as types
//! - [`placeholder`]: addresses that commands ask for
//! - [`parse`](mod@parse): from text to model
//! - `reader`: TOML with positions, on which `parse` and `expected` stand
//! - [`error`]: what is wrong with a file, and where
//! - [`files`]: from paths on the command line to files
//! - [`expected`]: the sidecars of files that must fail
//! - [`schema`](mod@schema): the JSON Schema of the file, for editors
//! - [`supplied`], [`container`]: how agents are started that a file only names
//! - [`placeholder`]: `{ROLE}`, by which participants are told of each other
//! - [`template`]: what `green-agent new` writes

pub mod container;
mod duration;
pub mod episode;
pub mod error;
pub mod expectation;
pub mod expected;
pub mod files;
pub mod model;
pub mod parse;
pub mod pipeline;
pub mod placeholder;
mod reader;
pub mod schema;
pub mod supplied;
pub mod template;

pub use duration::parse as parse_duration;
pub use error::{Problem, ScenarioError, ScenarioErrors};
pub use expected::ExpectedFailure;
pub use files::{CollectError, Found, collect};
pub use parse::{parse, read};
pub use schema::schema;

#[cfg(test)]
pub(crate) mod tests;
