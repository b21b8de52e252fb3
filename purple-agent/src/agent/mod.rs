//! The agent: a policy with its tools and limits.
//!
//! - [`PurpleAgent`]: the configured agent
//! - `Work`: the work of one policy, from the first message to its end

mod work;

pub use work::{Outcome, StopReason};
pub(crate) use work::{Progress, Work};

use std::{fmt, sync::Arc, time::Duration};

use mcp_tools::{
    allow_list::AllowList,
    client,
    connection::ConnectionDetails,
    context::{AgentContext, Settings},
    tools::Tool,
};

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
        Self { new_policy, tools: Vec::new(), settings }
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
            ..Settings::default()
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

/// An event of an agent's work. `Display` writes it as a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A message was received.
    Received {
        /// Its number in the order of arrival, from 1.
        number: u64,
        /// The kinds of its content, such as `mcp_details`.
        kinds: Vec<&'static str>,
    },
    /// A tool was called.
    CompletedCall {
        /// The tool's name.
        tool: String,
        /// The text of the result, if the call failed.
        failed: Option<String>,
    },
    /// The policy waits for a message.
    Waits {
        /// A description of the missing message.
        missing: String,
    },
    /// The state of the evaluator's task changed.
    Evaluation {
        /// The state, such as `working`.
        state: String,
    },
}

/// A callback for the events.
pub type Listener = Arc<dyn Fn(&Notice) + Send + Sync>;

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received { number, kinds } => {
                write!(f, "message {number}: {}", kinds.join(", "))
            }
            Self::CompletedCall { tool, failed: None } => write!(f, "called {tool}"),
            Self::CompletedCall { tool, failed: Some(text) } => {
                write!(f, "called {tool}, which failed: {text}")
            }
            Self::Waits { missing } => write!(f, "waiting; what is missing: {missing}"),
            Self::Evaluation { state } => write!(f, "the evaluation is {state}"),
        }
    }
}

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
        Self { steps: 100, parallel: 8, time: Duration::from_secs(600) }
    }
}
