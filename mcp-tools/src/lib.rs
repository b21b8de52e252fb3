//! Tools for agents: an MCP client and server, environments for evaluations, and the messages of an evaluation.
//!
//! This crate is not an agent: a policy of `purple-agent`, or any program that speaks MCP, chooses the tools to
//! call.
//!
//! Modules for an agent under evaluation:
//! - [`secret`]: values that must never be shown
//! - [`connection`]: MCP connection details, read from and written into messages in every known shape
//! - [`acknowledge`]: the A2A extension by which an agent acknowledges messages
//! - [`allow_list`]: the hosts and commands that an agent may connect to
//! - [`inbox`]: the received messages
//! - [`client`]: a connection to an MCP server
//! - [`context`]: the state that the agent's tools share
//! - [`agents`](mod@agents), [`sites`]: other agents on the web, and an index to find them by
//! - [`tools`]: the agent's own tools, one per file
//!
//! Modules for an evaluator:
//! - [`environments`]: the worlds that agents act in
//! - [`episodes`]: running environments, each with a token, limits and an outcome
//! - [`server`]: the HTTP server that offers episodes and tools over MCP
//! - [`relay`]: an MCP server over standard input and output in front of one over HTTP
//!
//! [`cli`] is the program.

// All output goes through `bridge_program::terminal`, because much of it comes from untrusted peers.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod acknowledge;
pub mod allow_list;
mod arguments;
pub mod cli;
pub mod client;
pub mod connection;
pub mod context;
pub mod environments;
pub mod episodes;
pub mod inbox;
pub mod relay;
pub mod server;
pub mod sites;
pub mod tools;
mod trace;

// Types of these crates are part of the traits that users implement.
pub use async_trait::async_trait;
pub use bridge_orchestration::agents;
pub use bridge_program::secret;
pub use jiff;
pub use rmcp;
