//! The settings of an agent.

use std::time::Duration;

use mcp_tools::{allow_list::AllowList, client, connection::ConnectionDetails};

/// The settings of an agent.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The limits of one conversation.
    pub limits: Limits,
    /// The hosts and commands that the agent may connect to.
    pub allowed: AllowList,
    /// The options of the MCP client.
    pub mcp: client::Options,
    /// Connection details that are known beforehand; they take precedence over those in messages.
    pub mcp_connection_details: Option<ConnectionDetails>,
    /// The number of conversations that a server keeps; a further one replaces the conversation that has been idle
    /// longest.
    pub conversations: usize,
}

/// The limits of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of steps, which are the policy's choices to call tools.
    pub steps: u32,
    /// The largest number of calls of one step that run at the same time. Calls of tools that declare a change
    /// (`readOnlyHint` false) run alone, in the chosen order.
    pub parallel: u32,
    /// The time limit of the work; waiting for messages does not count.
    pub time: Duration,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            allowed: AllowList::default(),
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
