//! What is told while an agent works.

use std::{fmt, sync::Arc};

/// Something that happened. Printed, it is a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A message came in.
    Received {
        /// Its place among all that came, from 1.
        number: u64,
        /// What it holds, such as `mcp_details`.
        kinds: Vec<&'static str>,
    },
    /// A tool was called.
    Called {
        /// Its name.
        tool: String,
        /// What it said, if it failed.
        failed: Option<String>,
    },
    /// The policy waits for a message.
    Waits {
        /// What is missing.
        missing: String,
    },
    /// The evaluator's task stands differently.
    Evaluation {
        /// Its state, such as `working`.
        state: String,
    },
}

/// Hears what happens.
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
