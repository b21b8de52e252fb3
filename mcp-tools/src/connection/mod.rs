//! MCP connection details: where an MCP server is and how it is reached, as one agent tells another.
//!
//! Agents write them into A2A messages in several shapes, each of which [`find`] reads:
//! - what every MCP client reads from its settings, with an episode and an expiry beside it:
//!   `{"mcpServers": {"environment": {"type": "http", "url": .., "headers": {..}}}, "episodeId": .., "expiresAt": ..}`
//! - `{"mcp_connection_details": {"url" | "command": .., "transport": ..}}`, or `mcp`, `mcp_server` and the like
//! - `url` or `command` beside `transport`; `url` beside `headers` or `token`; `server_url`, `mcp_url` alone;
//!   `endpoint` for `url` everywhere
//! - text: `- **Transport**: http`, ``- **URL**: `http://..` ``, ``- **Session ID**: `..` ``
//! - a sentence: `The MCP server is at http://.., use the bearer token ".."`
//!
//! The JSON shapes may stand in the message, in a part, in its data, or in a text, inside of a sentence too.
//! Headers that come in another message than their URL are found by [`loose_headers`].

mod details;
mod example;
mod find;
mod findings;
mod loose;
mod masked;
mod merge;
mod names;
#[cfg(test)]
mod properties;
mod prose;
mod read;
mod text;
mod write;

pub use bridge_protocol::wire::FieldError as DetailsError;
pub use details::{ConnectionDetails, DEFAULT_NAME, Transport};
pub use find::{MOST_DETAILS, find};
pub use loose::loose_headers;
pub use masked::masked;
pub(crate) use masked::{masked_of, masked_text, searched, secrets_in};
