//! Whether a card is trusted.

use std::fmt;

use async_trait::async_trait;
use bridge_protocol::a2a::AgentCard;

/// Decides whether a card is trusted, by its signatures (specification 8.4) or anything else. It is asked
/// before the card is used, the extended one too.
#[async_trait]
pub trait CardCheck: fmt::Debug + Send + Sync {
    /// Looks at a card.
    ///
    /// # Errors
    /// Why it is not trusted, as a fragment that fits "the card is not trusted: ...".
    async fn check(&self, card: &AgentCard) -> Result<(), String>;
}
