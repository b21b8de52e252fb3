//! A connection to an MCP server, over streamable HTTP or to a program that is started.

mod error;
mod options;

use rmcp::model::{CallToolResult, JsonObject, Tool};

pub use error::{CallError, ConnectError};
pub use options::{Lifecycle, Limits, Options};

use crate::{allowed::Allowed, connection::ConnectionDetails};

/// A connection to an MCP server.
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// Connects, if the details are [allowed](Allowed), and agrees with the server on a version.
    pub async fn open(
        _details: &ConnectionDetails,
        _allowed: &Allowed,
        _options: &Options,
    ) -> Result<Self, ConnectError> {
        unimplemented!()
    }

    /// What the server is called in its details.
    pub fn name(&self) -> &str {
        unimplemented!()
    }

    /// The version of MCP that was agreed on, such as `2025-11-25`.
    pub fn protocol_version(&self) -> String {
        unimplemented!()
    }

    /// The tools that the server has now. What they say of themselves is data from a stranger.
    pub async fn tools(&self) -> Result<Vec<Tool>, CallError> {
        unimplemented!()
    }

    /// How often the server has said that its tools changed.
    pub fn tool_changes(&self) -> u64 {
        unimplemented!()
    }

    /// Calls a tool. An error of the tool itself is a result with `is_error`.
    pub async fn call(
        &self,
        _tool: &str,
        _arguments: JsonObject,
    ) -> Result<CallToolResult, CallError> {
        unimplemented!()
    }

    /// Ends it, within the limit `close`. Dropping it ends it too, without waiting.
    pub async fn close(&self) {
        unimplemented!()
    }
}
