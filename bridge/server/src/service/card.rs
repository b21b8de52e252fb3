//! Agent cards, and GetExtendedAgentCard (specification 3.1.11, 13.3).

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use bridge_protocol::{
    a2a::{AgentCard, Error, ErrorKind, GetExtendedAgentCardRequest},
    dialect::Version,
};

use super::{Context, Result, Service, sequence};

/// The extended cards by agent name.
pub(super) type ExtendedCards = Arc<RwLock<BTreeMap<String, AgentCard>>>;

impl Service {
    /// Returns an agent's card without interfaces.
    pub fn card(&self, agent: &str) -> Option<AgentCard> {
        let mut card = self.turns.agent(agent).map(|agent| agent.card.clone())?;
        if self.extended(agent).is_some() {
            card.capabilities.extended_agent_card = Some(true);
        }
        offer(&mut card);
        Some(card)
    }

    /// Returns the agent's card for authenticated callers, without interfaces.
    ///
    /// # Errors
    /// If the agent has no extended card, or the caller is anonymous.
    pub async fn extended_agent_card(
        &self,
        context: &Context,
        _request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard> {
        let card = self.extended(&context.agent);
        let mut card = card.ok_or_else(|| self.missing(context))?;
        if context.caller.is_anonymous() {
            let message = "the extended card is for authenticated callers: \
                           expected credentials for one of the card's security schemes";
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        card.capabilities.extended_agent_card = Some(true);
        offer(&mut card);
        Ok(card)
    }

    /// Returns the error for an agent without an extended card. In 1.0 it depends on whether the card promises one.
    fn missing(&self, context: &Context) -> Error {
        let card = self.card(&context.agent);
        let is_said = card.is_some_and(|card| card.capabilities.extended_agent_card == Some(true));
        Error::from(match context.version {
            Version::V1_0 if !is_said => ErrorKind::UnsupportedOperation,
            Version::V1_0 | Version::V0_3 | Version::V0_1 => {
                ErrorKind::ExtendedAgentCardNotConfigured
            }
        })
    }

    /// Replaces all extended cards, by agent name.
    pub(crate) fn extend_cards(&self, cards: BTreeMap<String, AgentCard>) {
        *self.extended.write().unwrap_or_else(PoisonError::into_inner) = cards;
    }

    fn extended(&self, agent: &str) -> Option<AgentCard> {
        let cards = self.extended.read().unwrap_or_else(PoisonError::into_inner);
        cards.get(agent).cloned()
    }
}

/// Adds the extensions of the service to a card that does not name them itself.
fn offer(card: &mut AgentCard) {
    let offered = &mut card.capabilities.extensions;
    if offered.iter().all(|one| one.uri != sequence::EXTENSION) {
        offered.push(sequence::offer());
    }
}
