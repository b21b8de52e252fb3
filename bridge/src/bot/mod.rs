//! Bot-style agents: they get activities, answer with activities, and keep what they
//! must remember of a conversation.
//!
//! A [`Bot`] knows nothing of tasks. [`BotExecutor`] makes an agent of it: what the bot sends passes
//! through the translation ([`bridge_protocol::translate`]) into the task's log, in the order in which
//! it was sent.
//!
//! ```
//! use bridge::bot::{Bot, BotError, TurnContext, async_trait, testing::Chat};
//!
//! struct Shouting;
//!
//! #[async_trait]
//! impl Bot for Shouting {
//!     async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
//!         let answer = turn.text().to_uppercase();
//!         turn.send_text(answer).await?;
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BotError> {
//! let mut chat = Chat::with(Shouting);
//! assert_eq!(chat.ask("hello").await?, "HELLO");
//! # Ok(())
//! # }
//! ```
//!
//! - [`Bot`], [`TurnContext`]: what a bot is, and what it can do in a turn
//! - [`StreamingResponse`], [`ConversationState`]: an answer in pieces; a memory
//! - [`Conversations`]: to speak outside of a turn
//! - [`BotExecutor`], [`BotSettings`], [`TurnMode`]: a bot as an agent
//! - [`remote`]: bots that are programs of their own, reached over HTTP
//! - [`builtin`]: the bots that come with the bridge
//! - [`testing`]: to talk to a bot without a socket

mod bot_turn;
mod card;
mod context;
mod conversations;
mod echo;
mod executor;
mod faulty;
mod local_bot;
mod log_writer;
mod output;
pub mod remote;
mod sample;
mod settings;
mod state;
mod stream;
pub mod testing;

#[cfg(test)]
mod tests;

use std::sync::Arc;

/// For implementations of [`Bot`].
pub use async_trait::async_trait;
use bridge_protocol::a2a::AgentCard;

pub use context::TurnContext;
pub use conversations::{ContinueError, ConversationReference, Conversations};
pub use echo::Echo;
pub use executor::BotExecutor;
pub use faulty::{Failing, Hanging, Panicking, Silent};
pub use output::SendError;
pub use sample::Sample;
pub use settings::{BotSettings, TurnMode};
pub use state::{ConversationState, StateError};
pub use stream::{Citation, StreamingResponse};

use crate::{agent::Agent, store::Store};

/// Why a bot could not do its turn. It is logged for those who run the bridge; users are only told that
/// the agent could not answer.
pub type BotError = Box<dyn std::error::Error + Send + Sync>;

/// A bot-style agent.
#[async_trait]
pub trait Bot: Send + Sync + 'static {
    /// Answers an activity: a message, the `endOfConversation` that tells of a canceled task, or, if the
    /// bot wants it, the `conversationUpdate` that begins a conversation.
    ///
    /// The turn is over when this returns. An error, a panic, and a turn that takes longer than the
    /// agent's may take fail the task, after all that the bot had sent.
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError>;

    /// Says who the bot is. What comes in has the agent's name and a default for everything else; where
    /// the agent is reached is added afterwards.
    fn card(&self, card: AgentCard) -> AgentCard {
        card
    }

    /// Whether the bot gets a `conversationUpdate` before the first message of each task.
    fn wants_conversation_update(&self) -> bool {
        false
    }
}

/// The bots that come with the bridge: their names, and what they are for.
pub const BUILTINS: [(&str, &str); 6] = [
    (
        "sample",
        "echoes; -multi and -stream show conversations and streams",
    ),
    ("echo", "echoes, in a conversation without end"),
    ("silent", "never answers, to try what that means"),
    ("failing", "fails in the middle of every turn"),
    ("hanging", "never finishes a turn"),
    ("panicking", "panics in the middle of every turn"),
];

/// A bot that comes with the bridge, by its name in [`BUILTINS`].
pub fn builtin(name: &str) -> Option<Arc<dyn Bot>> {
    match name {
        "sample" => Some(Arc::new(Sample)),
        "echo" => Some(Arc::new(Echo)),
        "silent" => Some(Arc::new(Silent)),
        "failing" => Some(Arc::new(Failing)),
        "hanging" => Some(Arc::new(Hanging)),
        "panicking" => Some(Arc::new(Panicking)),
        _ => None,
    }
}

/// The same as an agent under that name, which keeps what it remembers in `store`.
pub fn builtin_agent(name: &str, store: Arc<dyn Store>) -> Option<Agent> {
    let bot = builtin(name)?;
    Some(BotExecutor::new(bot, store, BotSettings::new(name)).into_agent())
}
