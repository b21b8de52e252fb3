//! The results of a run: trials judged, recorded, counted, compared and reported. All of it is derived from transcripts
//! and assessments, without the agents.
//!
//! - [`problem`]: the problems and outcomes of trials, and the party at fault
//! - [`assessment`]: the evaluator's statuses, artifacts and metrics
//! - [`expect`]: the comparison with the scenario's expectations
//! - [`record`]: the records of a run, one line a trial, from which everything about it is reported
//! - [`usage`]: the tokens that a transcript's messages report
//! - [`statistics`]: means, rates and differences with their intervals
//! - [`summary`]: the figures of a run, from its records
//! - [`gate`]: checks whether figures meet the demands, and whether more trials are needed
//! - [`comparison`]: two runs side by side
//! - [`run`]: the events of a run, and the report that is made from its records
//! - [`report`]: the output for people and for programs
//! - [`schema`]: the JSON Schemas of the files that a run writes

// All output goes through `bridge_program::terminal`, which escapes control characters: other programs wrote
// much of it.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod assessment;
pub mod comparison;
pub mod expect;
pub mod gate;
pub mod problem;
pub mod record;
pub mod report;
pub mod run;
pub mod schema;
pub mod statistics;
pub mod summary;
pub mod usage;
