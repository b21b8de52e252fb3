//! Hosts bot-style agents behind A2A and stores every task.
//!
//! This crate is not a bot framework: bots are programs that speak activities, or implementations of a Rust trait.
//!
//! Most modules are those of smaller crates, which their examples name: `bridge_bots::bot` is `bridge::bot`,
//! `bridge_server::host` is `bridge::host`, and `bridge_tasks::executor` is `bridge::executor`.
//!
//! Modules, from the lowest up:
//! - [`caller`]: the callers of operations
//! - [`metrics`]: metrics for operators
//! - [`store`]: the task log
//! - [`quota`]: limits each caller, so that the others are served too
//! - [`auth`]: issuing, requesting and verifying tokens
//! - [`access`]: authentication as an agent's card declares it
//! - [`agent`], [`executor`]: hosted agents and the interface to them
//! - [`turns`]: runs the turns of agents
//! - [`bot`]: bot-style agents, in this process or behind a URL
//! - [`builtin`]: the agents that come with the bridge
//! - [`push`]: delivers tasks' events to webhooks
//! - [`retention`]: deletes tasks
//! - [`service`]: the operations of A2A, one function each
//! - [`server`]: serves the operations over HTTP and gRPC
//! - [`connector`]: the routes for remote bots
//! - [`host`]: combines all of them into one router
//! - [`serve()`], [`serve_within`] other [`Limits`], [`serve_until`], `tls`: serve a router until it is stopped
//! - `config`, `cli`, with the feature `program`: the file `bridge.toml`, the command line

// Output goes through `bridge_program::terminal`, because much of it comes from others.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "program")]
pub mod cli;
#[cfg(feature = "program")]
pub mod config;
pub mod store;
#[cfg(feature = "tls")]
pub mod tls;

pub use bridge_auth as auth;
pub use bridge_bots::{bot, builtin, connector};
pub use bridge_push as push;
pub use bridge_server::{access, host, quota, retention, server, service};
#[cfg(feature = "testing")]
pub use bridge_store::store_tests;
pub use bridge_store::{async_trait, caller, jiff};
pub use bridge_tasks::{agent, executor, metrics, turns};

#[cfg(feature = "program")]
use bridge_program::clock;

pub use bridge_program::{
    Acceptor, App, Io, Limits, PlainTcp, Rejection, StopFuture, serve, serve_until, serve_within,
    stop_signal,
};
