//! Bots that misbehave in different ways, for testing the effect on their tasks.

use async_trait::async_trait;

use super::{Bot, BotError, TurnContext};

/// The text that the bots send before they misbehave.
const BEGINNING: &str = "Let me see.";

/// Never answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

/// Sends a text, then returns an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failing;

/// Sends a text, then never returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hanging;

/// Sends a text, then panics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Panicking;

#[async_trait]
impl Bot for Silent {
    async fn on_activity(&self, _turn: &mut TurnContext) -> Result<(), BotError> {
        Ok(())
    }
}

#[async_trait]
impl Bot for Failing {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        turn.send_text(BEGINNING).await?;
        Err("this bot always fails".into())
    }
}

#[async_trait]
impl Bot for Hanging {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        turn.send_text(BEGINNING).await?;
        std::future::pending().await
    }
}

#[async_trait]
impl Bot for Panicking {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        turn.send_text(BEGINNING).await?;
        panic!("this bot always panics")
    }
}
