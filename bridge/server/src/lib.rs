//! Serves agents over A2A: decides who may call, runs the operations, and speaks HTTP and gRPC.
//!
//! Modules, from the lowest up:
//! - [`quota`]: limits each caller, so that the others are served too
//! - [`access`]: authentication as an agent's card declares it
//! - [`retention`]: deletes tasks
//! - [`service`]: the operations of A2A, one function for each
//! - [`server`]: serves the operations over HTTP and gRPC
//! - [`host`]: combines all of them into one router

pub mod access;
pub mod host;
pub mod quota;
pub mod retention;
pub mod server;
pub mod service;
mod trace;

use bridge_auth as auth;
use bridge_bots::{bot, connector};
use bridge_program::clock;
use bridge_push as push;
use bridge_store::{self as store, caller};
use bridge_tasks::{LogReader, agent, executor, metrics, run_to_completion, turns};
