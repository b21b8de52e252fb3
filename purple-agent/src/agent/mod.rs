//! The agent: a policy with its tools and limits.
//!
//! - [`PurpleAgent`]: the configured agent
//! - `Work`: the work of one policy, from the first message to its end

mod notice;
mod settings;
mod work;

use std::{fmt, sync::Arc};

use bridge_program::clock;
use mcp_tools::{
    context::{AgentContext, Settings},
    tools::Tool,
};

pub use notice::{Listener, Notice};
pub use settings::{AgentSettings, Limits};
pub use work::{Outcome, StopReason};
pub(crate) use work::{Progress, Work};

use crate::{policy::NewPolicy, toolbox::Toolbox};

/// An agent under evaluation. It is hosted with [`PurpleAgent::into_agent`], or requests an evaluation itself with
/// `run`.
#[derive(Clone)]
pub struct PurpleAgent {
    new_policy: NewPolicy,
    tools: Vec<Arc<dyn Tool>>,
    settings: AgentSettings,
}

impl PurpleAgent {
    /// Creates an agent that makes a new policy for each conversation.
    pub fn new(new_policy: NewPolicy, settings: AgentSettings) -> Self {
        Self {
            new_policy,
            tools: Vec::new(),
            settings,
        }
    }

    /// Adds a tool to the standard ones.
    #[must_use]
    pub fn with_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Returns the agent's settings.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Creates the context of a new conversation, which has received nothing yet.
    pub(crate) fn context(&self) -> AgentContext {
        let settings = &self.settings;
        let context = AgentContext::new(Settings {
            allowed: settings.allowed.clone(),
            client: settings.mcp,
            acknowledger: None,
            clock: Arc::new(clock::now),
        });
        if let Some(details) = &settings.mcp_connection_details {
            context.set_mcp_connection_details(details.clone());
        }
        context
    }

    /// Creates a policy and starts its work in this context.
    pub(crate) fn work(&self, context: AgentContext, listener: Listener) -> Work {
        let toolbox = Toolbox::new(&self.tools);
        let limits = self.settings.limits;
        Work::new((self.new_policy)(), context, toolbox, limits, listener)
    }
}

impl fmt::Debug for PurpleAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PurpleAgent")
            .field("tools", &self.tools.len())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
