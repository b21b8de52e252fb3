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

impl Agent {
    /// Returns an agent with the default settings for its turns.
    pub fn new(name: impl Into<String>, card: AgentCard, executor: Arc<dyn Executor>) -> Self {
        Self {
            name: name.into(),
            card,
            executor,
            settings: TurnSettings::default(),
        }
    }
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
    pub conversation: ConversationScope,
    /// What callers are answered with.
    pub answers: AnswerKind,
    /// What a message is whose id came before.
    pub repeats: RepeatPolicy,
    /// How long a task may wait for its caller; then it is canceled. For ever if absent.
    pub expire_after: Option<Duration>,
}

/// What a message that begins a task is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerKind {
    /// The task.
    #[default]
    Tasks,
    /// A bare message (specification 3.1.1), if one message is all that the agent said and its task is
    /// completed with it; else the task. Streams then begin when that is known.
    ///
    /// The message stands in the log in a task of its own, as any other does, so it is as durable, and a
    /// repeated message gets it again. Who lists or gets tasks sees it there, but the message does not
    /// name it: nothing can be said in it any more, and what belongs together has the same context.
    Messages,
}

/// What a message is whose id came before, from the same caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatPolicy {
    /// The same message: it is answered with what came of it, and runs nothing (specification 3.3.1). If its
    /// role, its parts, or the task or context that it names are other ones, it is refused.
    #[default]
    Same,
    /// Another one, of a client that does not take care of its ids: it is kept under an id made of that one.
    Another,
}

/// What a conversation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConversationScope {
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
            conversation: ConversationScope::Task,
            answers: AnswerKind::Tasks,
            repeats: RepeatPolicy::Same,
            expire_after: None,
        }
    }
}
