//! Bots that do not do what bots should, to try what becomes of their tasks.

use async_trait::async_trait;

use super::{Bot, BotError, TurnContext};

/// What those say that say anything, before their trouble begins.
const BEGINNING: &str = "Let me see.";

/// Never says anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

/// Says something, then fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failing;

/// Says something, then never comes to an end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hanging;

/// Says something, then panics.
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
