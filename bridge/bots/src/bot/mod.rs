//! Runs bot-style agents: programs or types that receive activities, answer with activities and store a state for
//! each conversation.
//!
//! A [`Bot`] has no notion of tasks. [`BotExecutor`] turns it into an agent: what the bot sends passes through the
//! translation ([`bridge_translate`]) into the task's log, in the order in which it was sent.
//!
//! ```
//! use bridge_bots::bot::{Bot, BotError, TurnContext, async_trait, testing::Chat};
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
//! - [`Bot`], [`TurnContext`]: the trait that a bot implements, and its means to answer in a turn
//! - [`StreamingResponse`], [`ConversationState`]: answers in pieces; the stored state of a conversation
//! - [`Conversations`]: messages outside of a turn
//! - [`BotExecutor`], [`BotSettings`], [`TurnMode`]: a bot as an agent
//! - [`remote`]: bots in other programs, called over HTTP
//! - [`builtin`]: the bots that come with the bridge
//! - [`testing`]: conversations with a bot without a socket

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

/// Re-exported for implementations of [`Bot`].
pub use async_trait::async_trait;
use bridge_protocol::a2a::AgentCard;
pub use bridge_translate::{QuestionEnd, SilentEnd};

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

/// The reason why a bot could not complete its turn. The bridge logs it; users only see that the agent could not
/// answer.
pub type BotError = Box<dyn std::error::Error + Send + Sync>;

/// A bot-style agent.
#[async_trait]
pub trait Bot: Send + Sync + 'static {
    /// Answers an activity: a message, the `endOfConversation` that reports a canceled task or, if the bot wants it,
    /// the `conversationUpdate` at the beginning of a conversation.
    ///
    /// The turn is over when this function returns. An error, a panic or a turn beyond the agent's time limit fails
    /// the task; everything that the bot had sent before is kept.
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError>;

    /// Completes the bot's card. `card` has the agent's name and a default for everything else; the agent's addresses
    /// are added afterwards.
    fn card(&self, card: AgentCard) -> AgentCard {
        card
    }

    /// Returns whether the bot gets a `conversationUpdate` before the first message of each task.
    fn wants_conversation_update(&self) -> bool {
        false
    }
}

/// The bots that come with the bridge: name and purpose.
pub const BUILTINS: [(&str, &str); 6] = [
    ("sample", "echoes; -multi and -stream show conversations and streams"),
    ("echo", "echoes, in a conversation that does not end"),
    ("silent", "never answers, for tests of clients"),
    ("failing", "fails in the middle of every turn"),
    ("hanging", "never finishes a turn"),
    ("panicking", "panics in the middle of every turn"),
];

/// Returns the built-in bot with this name in [`BUILTINS`].
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

/// Returns the built-in bot as an agent with the same name, which stores its states in `store`.
pub fn builtin_agent(name: &str, store: Arc<dyn Store>) -> Option<Agent> {
    let bot = builtin(name)?;
    Some(BotExecutor::new(bot, store, BotSettings::new(name)).into_agent())
}
