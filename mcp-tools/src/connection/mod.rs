//! MCP connection details: the address and credentials of an MCP server, as one agent sends them to another.
//!
//! Agents write them into A2A messages in several shapes, and [`find`] reads each of them:
//! - the configuration format of MCP clients, with an episode and an expiry:
//!   `{"mcpServers": {"environment": {"type": "http", "url": .., "headers": {..}}}, "episodeId": .., "expiresAt": ..}`
//! - `{"mcp_connection_details": {"url" | "command": .., "transport": ..}}`, or under `mcp`, `mcp_server` and
//!   similar names
//! - `url` or `command` with `transport`; `url` with `headers` or `token`; `server_url` or `mcp_url` alone;
//!   `endpoint` is accepted for `url` everywhere
//! - text: `- **Transport**: http`, ``- **URL**: `http://..` ``, ``- **Session ID**: `..` ``
//! - a sentence: `The MCP server is at http://.., use the bearer token ".."`
//!
//! The JSON shapes may be in the message, in a part, in its data, or in a text, also within a sentence.
//! [`separate_headers`] finds headers that arrive in another message than their URL.

mod details;
mod example;
mod find;
mod findings;
mod masked;
mod merge;
mod names;
#[cfg(test)]
mod properties;
mod read;
mod sentence;
mod separate_headers;
mod text;
mod write;

pub use bridge_protocol::wire::FieldError as DetailsError;
pub use details::{ConnectionDetails, DEFAULT_NAME, Transport};
pub use find::{MAX_DETAILS, find};
pub use masked::masked;
pub(crate) use masked::{masked_of, masked_text, searched, secrets_in};
pub use separate_headers::separate_headers;
