//! MCP connection details: where an MCP server is and how it is reached, as one agent tells another.
//!
//! Agents write them into A2A messages in several shapes, each of which [`find`] reads:
//! - what every MCP client reads from its settings, with an episode and an expiry beside it:
//!   `{"mcpServers": {"environment": {"type": "http", "url": .., "headers": {..}}}, "episodeId": .., "expiresAt": ..}`
//! - `{"mcp_connection_details": {"url" | "command": .., "transport": ..}}`
//! - `url` or `command` beside `transport`
//! - text: `- **Transport**: http`, ``- **URL**: `http://..` ``, ``- **Session ID**: `..` ``
//!
//! The JSON shapes may stand in the message, in a part, in its data, or in a text that is JSON.

mod details;
mod find;
mod masked;
mod merge;
#[cfg(test)]
mod properties;
mod read;
mod text;
mod write;

pub use bridge_protocol::wire::FieldError as DetailsError;
pub use details::{ConnectionDetails, DEFAULT_NAME, Transport};
pub use find::{MOST_DETAILS, find};
pub use masked::masked;
pub(crate) use masked::{masked_of, masked_text, searched, secrets_in};
