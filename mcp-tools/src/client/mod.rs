//! The MCP client: a connection to a server over streamable HTTP, or to a program that the client starts.
//!
//! `rmcp` implements the protocol. This module adds what an agent needs to follow connection details from an
//! untrusted peer: it contacts nothing that is not [allowed](crate::allow_list), limits every wait and every answer's
//! size, and distinguishes a rejected token from an unreachable server.
//!
//! A started program ends when its connection is closed or dropped. To end it also when this process is killed,
//! the process needs a [`Supervisor`], which the programs of this workspace install. A library cannot do that by
//! itself, because it has no executable to run again: without a supervisor, programs that ignore the end of their
//! input keep running when this process is killed. `Supervisor { program: "/usr/bin/mcp-tools".into() }.install()`
//! uses the program `mcp-tools` as the supervisor.

mod connection;
mod error;
mod failure;
mod http;
mod options;
mod printed;
mod program;
mod readable;
mod resolver;
mod sse;
mod traced_http;

pub use bridge_program::supervisor::Supervisor;
pub use connection::Connection;
pub use error::{CallError, ConnectError};
pub(crate) use http::tls;
pub use options::{Lifecycle, Limits, Options};
