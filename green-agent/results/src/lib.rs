//! The results of a run: trials judged, recorded, counted, compared and reported. All of it is derived from transcripts
//! and assessments, without the agents.
//!
//! - [`problem`]: how a trial ends, and whose fault it is
//! - [`assessment`]: the evaluator's statuses, artifacts and metrics
//! - [`expect`]: the comparison with what should have happened
//! - [`record`]: the records of a run, one line a trial, from which everything about it is reported
//! - [`usage`]: the tokens that a transcript's messages tell
//! - [`statistics`]: means, rates and differences with their intervals
//! - [`summary`]: the figures of a run, from its records
//! - [`gate`]: whether figures are as demanded, and whether more trials are needed
//! - [`comparison`]: two runs side by side
//! - [`run`]: the events of a run, and the report that follows from its records
//! - [`report`]: the output for people and for programs

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
pub mod statistics;
pub mod summary;
pub mod usage;
