//! Runs scenario files: starts the agents that a file names, lets an evaluator assess them over A2A, records
//! every hop between them, judges the result, compares it with snapshots, and reports it.
//!
//! It is not an agent framework: agents are programs or servers of any kind that speak A2A.
//!
//! The crates below this one:
//! - [`scenario`]: reads scenario files, which a [`dataset`] may fill
//! - [`participant`]: runs agents as processes; [`install`]: installs what they require
//! - [`recorder`]: the recording proxy between all parties
//! - [`transcript`]: every message that passed over every hop; [`snapshot`]: the comparison with the accepted one
//! - `green_agent_results`: the results of a transcript and an assessment: [`problem`], [`expect`], [`record`],
//!   [`usage`], [`statistics`], [`summary`], [`gate`], [`comparison`], [`report`]
//!
//! The modules of this one:
//! - [`evaluator`]: the built-in evaluators, and the client of green agents
//! - [`run`]: runs scenarios trial by trial and emits events
//! - [`cli`]: the command line

// All output goes through `bridge_program::terminal`, which escapes control characters: other programs wrote
// much of it.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
pub mod evaluator;
pub mod run;

// The type of the exit codes in records and reports.
pub use bridge_program::Exit;
pub use green_agent_participant::{self as participant, install};
pub use green_agent_recorder as recorder;
pub use green_agent_results::{
    assessment, comparison, expect, gate, problem, record, report, statistics, summary, usage,
};
pub use green_agent_scenario::{self as scenario, dataset};
pub use green_agent_transcript::{self as transcript, snapshot};
