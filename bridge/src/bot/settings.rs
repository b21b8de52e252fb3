//! How a bot is hosted.

use bridge_protocol::translate::SilentEnd;

use crate::agent::{AnswerKind, ConversationScope};

/// What the end of a bot's turn means for its task, and what its conversations are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnMode {
    /// A turn is an answer: it completes its task, unless the bot asked something. The conversation is the context,
    /// so that the next message goes on in it, in a task of its own.
    #[default]
    Answers,
    /// As in Microsoft's hosting for .NET: the task works until the bot ends the conversation, and is the
    /// conversation. Clients that wait for a bot that never does wait for their limit.
    Dotnet,
    /// As [`TurnMode::Answers`], for a bot that answers after its turn: that ends when the bot ends the conversation
    /// or was quiet for some time.
    Late,
}

impl TurnMode {
    /// What the bot's conversations are.
    pub fn conversation(self) -> ConversationScope {
        match self {
            Self::Answers | Self::Late => ConversationScope::Context,
            Self::Dotnet => ConversationScope::Task,
        }
    }

    /// What a turn means that ends without saying so.
    pub fn silent_end(self) -> SilentEnd {
        match self {
            Self::Answers | Self::Late => SilentEnd::Completed,
            Self::Dotnet => SilentEnd::Working,
        }
    }
}

/// How a bot is hosted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotSettings {
    /// The agent's name; the bot's account has it too.
    pub name: String,
    /// The channel that the bot believes to be on. Some bots only stream on channels that they know,
    /// such as `webchat`.
    pub channel_id: String,
    /// The language that the users speak, such as `en-US`, if that is known.
    pub locale: Option<String>,
    /// What the bot's conversations, and so its states, are.
    pub conversation: ConversationScope,
    /// What a turn means that ends without saying so.
    pub silent_end: SilentEnd,
    /// What callers are answered with. A bot whose turns end without saying so only answers with
    /// messages if that means completed.
    pub answers: AnswerKind,
}

impl BotSettings {
    /// On the channel `a2a`, each task a conversation, in which the user may always go on.
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
