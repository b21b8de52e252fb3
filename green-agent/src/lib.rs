//! Runs scenario files: starts the agents that a file names, lets an evaluator assess them over A2A, records
//! every hop between them, judges the result, compares it with snapshots, and reports it.
//!
//! It is not an agent framework: agents are programs or servers of any kind that speak A2A.
//!
//! From the file to the verdict:
//! - [`scenario`]: reads scenario files
//! - [`dataset`]: reads the rows that fill scenarios
//! - [`install`]: installs what a scenario requires of this machine
//! - [`participant`]: runs agents as processes
//! - [`recorder`]: the recording proxy between all parties
//! - [`evaluator`]: the built-in evaluators, and the client of green agents
//! - [`run`]: runs scenarios trial by trial and emits events
//!
//! - [`problem`]: how a trial ends, and whose fault it is
//! - [`record`]: the records of a run, one line a trial, from which everything about it is reported
//!
//! What is derived from a trial's transcript, without the network:
//! - [`transcript`]: every message that passed over every hop
//! - [`usage`]: the tokens that its messages tell
//! - [`assessment`]: the evaluator's statuses, artifacts and metrics
//! - [`expect`], [`snapshot`]: the comparison with what should have happened
//! - [`statistics`]: means, rates and differences with their intervals
//! - [`summary`]: the figures of a run, from its records
//! - [`gate`]: whether figures are as demanded, and whether more trials are needed
//! - [`comparison`]: two runs side by side
//! - [`report`]: the output for people and for programs
//!
//! [`cli`] is the command line.

// All output goes through `bridge_program::terminal`, which escapes control characters: other programs wrote
// much of it.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod assessment;
pub mod cli;
pub mod comparison;
pub mod dataset;
pub mod evaluator;
pub mod expect;
pub mod gate;
pub mod install;
pub mod participant;
pub mod problem;
pub mod record;
pub mod recorder;
pub mod report;
pub mod run;
pub mod scenario;
pub mod snapshot;
pub mod statistics;
pub mod summary;
pub mod transcript;
pub mod usage;
