//! How an agent is set up.

use std::time::Duration;

use mcp_tools::{allowed::Allowed, client, connection::ConnectionDetails};

/// How an agent is set up.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// How much it may do in one conversation.
    pub limits: Limits,
    /// Which hosts and commands it may connect to, whoever tells it to.
    pub allowed: Allowed,
    /// How it speaks to MCP servers.
    pub mcp: client::Options,
    /// Connection details that are set beforehand; they go before those in messages.
    pub mcp_connection_details: Option<ConnectionDetails>,
    /// How many conversations are kept as a server; when one more begins, the one that rested longest is
    /// forgotten.
    pub conversations: usize,
}

/// How much an agent may do in one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often its policy may call tools.
    pub steps: u32,
    /// How many calls that were chosen at once are made at the same time. Calls of tools that say of themselves
    /// that they change something (`readOnlyHint` false) are made alone, in the order of the choice.
    pub parallel: u32,
    /// How long it may work, waits for messages not counted.
    pub time: Duration,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            allowed: Allowed::default(),
            mcp: client::Options::default(),
            mcp_connection_details: None,
            conversations: 64,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100,
            parallel: 8,
            time: Duration::from_secs(600),
        }
    }
}
