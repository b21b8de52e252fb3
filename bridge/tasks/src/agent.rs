//! Hosted agents: an executor with a card and settings.

use std::{sync::Arc, time::Duration};

use bridge_protocol::a2a::AgentCard;

use crate::executor::Executor;

/// An agent that the bridge hosts.
#[derive(Clone)]
pub struct Agent {
    /// The name of the agent in URLs and in the store.
    pub name: Arc<str>,
    /// The card without interfaces, which the host adds.
    pub card: AgentCard,
    /// Runs the agent's turns.
    pub executor: Arc<dyn Executor>,
    /// The settings of its turns.
    pub settings: TurnSettings,
}

impl Agent {
    /// Returns an agent with the default settings for its turns.
    pub fn new(name: impl Into<Arc<str>>, card: AgentCard, executor: Arc<dyn Executor>) -> Self {
        Self { name: name.into(), card, executor, settings: TurnSettings::default() }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Settings of an agent's turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSettings {
    /// The time limit of a turn, after which the task fails.
    pub limit: Duration,
    /// The number of turns that may wait in one conversation; further messages are refused.
    pub queue: usize,
    /// The extent of a conversation, in which turns run one at a time.
    pub conversation: ConversationScope,
    /// The kind of answers for callers.
    pub answers: AnswerKind,
    /// The treatment of messages with an id that was used before.
    pub repeats: RepeatPolicy,
    /// The time that a task may wait for its caller before it is canceled; unlimited if absent.
    pub expire_after: Option<Duration>,
}

/// The kind of answer to a message that creates a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerKind {
    /// The task.
    #[default]
    Tasks,
    /// A bare message (specification 3.1.1) if the agent's only answer is one message that completes the task;
    /// otherwise the task. Streams begin when this is known. The status that completes such a task repeats the
    /// artifacts of its turn as a message, for clients that show no artifacts.
    ///
    /// The message is logged as a task like any other, so it is as durable, and a repeated request gets it again. The
    /// task appears in lists and can be read, but the message does not name it, because it accepts no further
    /// messages. Related messages share their context.
    Messages,
}

/// The treatment of a message whose id the same caller has used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatPolicy {
    /// As a repetition: it gets the result of the earlier message and runs nothing (specification 3.3.1). If its
    /// role, its parts, or the named task or context differ, it is refused.
    #[default]
    Same,
    /// As a new message, for clients that reuse ids. It is stored under an id derived from the original one.
    Another,
}

/// The extent of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConversationScope {
    /// Each task is a conversation.
    #[default]
    Task,
    /// All tasks of a context are one conversation.
    Context,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            limit: Duration::from_secs(1800),
            queue: 16,
            conversation: ConversationScope::Task,
            answers: AnswerKind::Tasks,
            repeats: RepeatPolicy::Same,
            expire_after: None,
        }
    }
}
