//! The events of an agent's work, for logs and terminals.

use std::{fmt, sync::Arc};

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
    Called {
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
            Self::Called { tool, failed: None } => write!(f, "called {tool}"),
            Self::Called {
                tool,
                failed: Some(text),
            } => write!(f, "called {tool}, which failed: {text}"),
            Self::Waits { missing } => write!(f, "waiting; what is missing: {missing}"),
            Self::Evaluation { state } => write!(f, "the evaluation is {state}"),
        }
    }
}
