//! Scenario files: AgentBeats' `scenario.toml`, plus the table `[harness]`.
//!
//! - [`model`], [`episode`], [`expectation`], and `bridge_orchestration`'s [`pipeline`]: the contents of a file, as
//!   types
//! - [`parse`](mod@parse): parses text into the model
//! - `reader`: reads TOML with positions, for `parse` and `expected`
//! - [`source`](mod@source): a file with its dataset and matrix, from which scenarios are made; `fill`: fills their
//!   placeholders; `meaning`: the content that enters the digest; `misspelt`: texts that are almost placeholders
//! - [`error`]: mistakes in a file, with positions
//! - [`dataset`]: the rows that fill scenarios
//! - [`files`]: finds files from paths on the command line
//! - [`gate`]: demands on the figures of trials
//! - [`expected`]: the sidecars of files that must fail
//! - [`schema`](mod@schema): the JSON Schema of the file, for editors
//! - [`supplied`], [`container`]: start the agents that a file only names; `inherits`: the variables that agents get
//! - [`placeholder`]: `{ROLE}`, which becomes the address of a participant
//! - [`reuse`]: finds the agents that can be kept from one trial to the next
//! - [`template`]: the files that `green-agent new` writes

pub mod container;
pub mod dataset;
mod duration;
pub mod episode;
pub mod error;
pub mod expectation;
pub mod expected;
pub mod files;
mod fill;
pub mod gate;
mod inherits;
mod meaning;
mod misspelt;
pub mod model;
pub mod parse;
pub mod placeholder;
mod reader;
pub mod reuse;
pub mod schema;
pub mod source;
pub mod supplied;
pub mod template;

pub use bridge_orchestration::pipeline;
pub use duration::parse as parse_duration;
pub use error::{Problem, ScenarioError, ScenarioErrors};
pub use expected::ExpectedFailure;
pub use files::{CollectError, ScenarioFile, collect};
pub use fill::Cell;
pub use parse::parse;
pub use schema::schema;
pub use source::{ScenarioSource, read};

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
