//! A hosted agent: its executor, and how its turns are run.

use std::{sync::Arc, time::Duration};

use bridge_protocol::a2a::AgentCard;

use crate::executor::Executor;

/// An agent that the bridge hosts.
#[derive(Clone)]
pub struct Agent {
    /// The name under which it is hosted and its tasks are kept.
    pub name: String,
    /// Its card, without interfaces: where it is reached is the host's to say.
    pub card: AgentCard,
    /// Who answers.
    pub executor: Arc<dyn Executor>,
    /// How its turns are run.
    pub settings: TurnSettings,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// How turns are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSettings {
    /// How long a turn may take; the task fails when it takes longer.
    pub limit: Duration,
    /// How many turns may wait in one conversation; further messages are refused.
    pub queue: usize,
    /// What a conversation is: whose turns come one after the other.
    pub conversation: Conversation,
}

/// What a conversation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conversation {
    /// Each task is one.
    #[default]
    Task,
    /// All tasks of a context are one.
    Context,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            limit: Duration::from_secs(300),
            queue: 16,
            conversation: Conversation::Task,
        }
    }
}
