//! Runs scenario files: starts the agents that a file names, lets an evaluator assess them over A2A,
//! records every hop between them, judges, compares with snapshots, reports.
//!
//! It is not an agent framework: agents are programs or servers of any kind that speak A2A.
//!
//! From the file to the verdict:
//! - [`scenario`]: what a scenario file says
//! - [`install`]: what it requires of this machine
//! - [`participant`]: agents as processes
//! - [`recorder`]: the proxy between all parties
//! - [`evaluator`]: who assesses, built in or over A2A
//! - [`run`]: puts these together, trial by trial, and tells what happens
//!
//! What is said of a run, from its transcript, without the network:
//! - [`transcript`]: what passed over every hop
//! - [`assessment`]: what the evaluator said
//! - [`expect`], [`snapshot`]: what should have happened
//! - [`report`]: what people and programs are told
//!
//! [`cli`] is the program.

// What is printed passes `bridge_program::terminal`: much of it was written by others.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod assessment;
pub mod cli;
pub mod evaluator;
pub mod expect;
pub mod install;
pub mod participant;
pub mod recorder;
pub mod report;
pub mod run;
pub mod scenario;
pub mod snapshot;
pub mod transcript;
