//! A connection to an MCP server, over streamable HTTP or to a program that is started.
//!
//! The protocol is spoken by `rmcp`; what stands here is what an agent needs who follows a stranger's
//! details: nothing is contacted that is not [allowed](crate::allowed), every wait has a limit, every
//! answer a greatest size, and errors tell a refused token from a server that is gone.
//!
//! A program that was started ends when its connection is closed or dropped. That it also ends with a process that
//! is killed takes a [`Keeper`], which the programs of this workspace have. A library has no program to run again: until
//! its user installs a keeper, a killed process leaves those programs running that ignore the end of their input.
//! `Keeper { program: "/usr/bin/mcp-tools".into() }.install()` makes the program `mcp-tools` the keeper.

mod connection;
mod error;
mod failure;
mod handler;
mod http;
mod options;
mod program;
mod resolver;
mod sse;

pub use bridge_program::keeper::Keeper;
pub use connection::Connection;
pub use error::{CallError, ConnectError};
pub(crate) use http::tls;
pub use options::{Lifecycle, Limits, Options};
