//! Runs scenario files: starts the agents that a file names, lets an evaluator assess them over A2A,
//! records every hop between them, judges, compares with snapshots, reports.
//!
//! It is not an agent framework: agents are programs or servers of any kind that speak A2A.

pub mod assessment;
pub mod expect;
pub mod install;
pub mod participant;
pub mod recorder;
pub mod scenario;
pub mod snapshot;
pub mod transcript;
