//! The check of an agent's card before it is used.

use std::fmt;

use async_trait::async_trait;
use bridge_protocol::a2a::AgentCard;

/// Decides whether a card is trusted, by its signatures (specification 8.4) or other evidence. The client
/// calls it before it uses a card, also for the extended card.
#[async_trait]
pub trait CardCheck: fmt::Debug + Send + Sync {
    /// Checks a card.
    ///
    /// # Errors
    /// Returns the reason why the card is not trusted, as a fragment that completes "the card is not trusted:
    /// ...".
    async fn check(&self, card: &AgentCard) -> Result<(), String>;
}
