//! Connects bots: agents that speak activities.
//!
//! Modules, from the lowest up:
//! - [`bot`]: bot-style agents, in this process or behind a URL
//! - [`builtin`]: the agents that come with the bridge
//! - [`connector`]: the routes for remote bots

pub mod bot;
pub mod builtin;
pub mod connector;

use bridge_auth as auth;
use bridge_program::clock;
use bridge_store::{self as store, caller};
#[cfg(test)]
use bridge_tasks::metrics;
use bridge_tasks::{agent, executor, run_to_completion, trace, turns};
