//! Settings of hosted bots.

use bridge_translate::SilentEnd;

use crate::agent::{AnswerKind, ConversationScope};

/// The meaning of the end of a bot's turn for its task, and the extent of its conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnMode {
    /// A turn is an answer and completes its task, unless the bot asked a question. The conversation is the context,
    /// so the next message continues it in a new task.
    #[default]
    Answers,
    /// The task is the conversation and keeps working until the bot ends it, as in Microsoft's hosting for .NET. If
    /// the bot never ends it, waiting clients wait until their limit.
    Dotnet,
    /// As [`TurnMode::Answers`], for bots that answer after their turn. A turn ends when the bot ends the
    /// conversation or has been silent for some time.
    Late,
}

impl TurnMode {
    /// Returns the extent of the bot's conversations.
    pub fn conversation(self) -> ConversationScope {
        match self {
            Self::Answers | Self::Late => ConversationScope::Context,
            Self::Dotnet => ConversationScope::Task,
        }
    }

    /// Returns the meaning of a turn that ends without an explicit end.
    pub fn silent_end(self) -> SilentEnd {
        match self {
            Self::Answers | Self::Late => SilentEnd::Completed,
            Self::Dotnet => SilentEnd::Working,
        }
    }
}

/// Settings of a hosted bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotSettings {
    /// The name of the agent and of the bot's account.
    pub name: String,
    /// The channel id in activities. Some bots stream only on channels that they know, such as `webchat`.
    pub channel_id: String,
    /// The language of the users, such as `en-US`, if known.
    pub locale: Option<String>,
    /// The extent of the bot's conversations, and therefore of its states.
    pub conversation: ConversationScope,
    /// The meaning of a turn that ends without an explicit end.
    pub silent_end: SilentEnd,
    /// The kind of answers for callers. With [`AnswerKind::Messages`], a bot that never ends its conversations
    /// answers with messages only if `silent_end` is completed.
    pub answers: AnswerKind,
}

impl BotSettings {
    /// Returns settings for the channel `a2a`, with one conversation for each task, which stays open for the user: after an answer
    /// the task waits for the next message. With [`SilentEnd::Completed`] in `silent_end` it is completed.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            channel_id: "a2a".into(),
            locale: None,
            conversation: ConversationScope::default(),
            silent_end: SilentEnd::default(),
            answers: AnswerKind::default(),
        }
    }
}
