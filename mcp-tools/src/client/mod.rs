//! A connection to an MCP server, over streamable HTTP or to a program that is started.
//!
//! The protocol is spoken by `rmcp`; what stands here is what an agent needs who follows a stranger's
//! details: nothing is contacted that is not [allowed](crate::allowed), every wait has a limit, every
//! answer a greatest size, and errors tell a refused token from a server that is gone.

mod connection;
mod error;
mod failure;
mod handler;
mod http;
mod options;
mod program;
mod resolver;
mod sse;

pub use connection::Connection;
pub use error::{CallError, ConnectError};
pub(crate) use http::tls;
pub use options::{Lifecycle, Limits, Options};
