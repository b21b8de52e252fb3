//! Tools for agents: MCP both ways, environments to be evaluated in, and the messages of an evaluation.
//!
//! It is not an agent: who chooses which tool to call is somebody else's, a policy of `purple-agent` or
//! any program that speaks MCP.
//!
//! What an agent under evaluation has:
//! - [`secret`]: what must never be shown
//! - [`connection`]: MCP connection details, read from and written into messages in every known shape
//! - [`acknowledge`]: how an agent says over A2A which messages it has received
//! - [`allowed`]: which hosts and commands an agent may connect to
//! - [`inbox`]: the messages that were received
//! - [`client`]: a connection to an MCP server
//! - [`context`]: what its tools look at
//! - [`agents`], [`sites`]: other agents on the web, and an index to find them by
//! - [`tools`]: its own tools, one a file
//!
//! What an evaluator has:
//! - [`environments`]: what is worked in
//! - [`episodes`]: environments that are being worked in, each with a token, limits and an outcome
//! - [`server`]: how they are reached over MCP; tools too
//! - [`relay`]: the same over standard input and output
//!
//! [`cli`] is the program.

// What is printed passes `bridge_program::terminal`: much of it was written by others.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod acknowledge;
pub mod agents;
pub mod allowed;
mod arguments;
pub mod cli;
pub mod client;
pub mod connection;
pub mod context;
pub mod environments;
pub mod episodes;
pub mod inbox;
pub mod relay;
pub mod secret;
pub mod server;
pub mod sites;
pub mod tools;
