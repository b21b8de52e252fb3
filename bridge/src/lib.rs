//! Hosts bot-style agents behind A2A and stores every task.
//!
//! This crate is not a bot framework: bots are programs that speak activities, or implementations of a Rust trait.
//!
//! Modules, from the lowest up:
//! - [`caller`]: the callers of operations
//! - [`metrics`]: metrics for operators
//! - [`store`]: the task log
//! - [`quota`]: what one caller may take from the others
//! - [`auth`]: issuing, requesting and verifying tokens
//! - [`access`]: authentication as an agent's card declares it
//! - [`config`]: the file `bridge.toml`
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
//! - [`serve()`], [`serve_until`], `tls`: serve a router until it is stopped
//! - [`cli`]: the program

// Output goes through `bridge_program::terminal`, because much of it comes from others.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod agent;
pub mod auth;
pub mod bot;
pub mod builtin;
pub mod caller;
pub mod cli;
mod clock;
mod completion;
pub mod config;
pub mod connector;
pub mod executor;
pub mod host;
pub mod metrics;
pub mod push;
pub mod quota;
pub mod retention;
pub mod server;
pub mod service;
pub mod store;
#[cfg(feature = "tls")]
pub mod tls;
pub mod turns;

pub use bridge_program::{StopFuture, serve, serve_until, stop_signal};
