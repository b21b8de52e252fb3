//! Hosts bot-style agents behind A2A, every task kept.
//!
//! It is not a bot framework: bots are programs of any kind that speak activities, or a Rust trait.
//!
//! From below:
//! - [`caller`]: who asks
//! - [`metrics`]: what those who run it watch
//! - [`store`]: the task log
//! - [`auth`]: tokens that are made, got and checked
//! - [`access`]: who may ask an agent, as its card declares
//! - [`config`]: what the file `bridge.toml` says
//! - [`agent`], [`executor`]: what is hosted, and the one seam to it
//! - [`turns`]: calls agents, one turn after the other
//! - [`bot`]: bot-style agents, in this process or behind a URL
//! - [`builtin`]: the agents that come with the bridge
//! - [`push`]: tasks' events, delivered to webhooks
//! - [`service`]: the operations of A2A, one function each
//! - [`server`]: how they are reached over HTTP
//! - [`connector`]: what remote bots call
//! - [`host`]: puts all of it together
//! - [`serve()`], [`serve_until`], `tls`: serves it, until it is stopped
//! - [`cli`]: the program

// What is printed passes `bridge_program::terminal`: much of it was written by others.
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
pub mod server;
pub mod service;
pub mod store;
#[cfg(feature = "tls")]
pub mod tls;
pub mod turns;

pub use bridge_program::{StopFuture, serve, serve_until, stop_signal};
