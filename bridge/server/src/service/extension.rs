//! Extensions of the protocol (specification 4.6): required and active ones.

use std::collections::BTreeSet;

use bridge_protocol::a2a::{Error, ErrorKind, Message, Operation};
use bridge_translate::full_activity;

use super::{Context, Result, Service, sequence};

impl Service {
    /// Returns the extensions that are active for a request: those that the client requests and the agent offers.
    /// Others are ignored (specification 4.6.3).
    pub fn active_extensions(&self, context: &Context) -> BTreeSet<String> {
        if context.extensions.is_empty() {
            return BTreeSet::new();
        }
        let Some(agent) = self.turns.agent(&context.agent) else {
            return BTreeSet::new();
        };
        let offered = agent.card.capabilities.extensions.iter();
        let offered = offered.map(|offer| offer.uri.as_str());
        let wanted =
            offered.chain([sequence::EXTENSION]).filter(|uri| context.extensions.contains(*uri));
        wanted.map(str::to_owned).collect()
    }

    /// Adds the active extensions to a message, so that its agent knows them: it sees the message, not the request. The
    /// numbers of events concern the client and this service alone. Returns an error if the message carries an activity
    /// that a user cannot send.
    pub(super) fn add_active_extensions(
        &self,
        context: &Context,
        message: &mut Message,
    ) -> Result<()> {
        let active = self.active_extensions(context);
        let carries_activity = active.contains(full_activity::EXTENSION);
        for uri in active {
            if uri != sequence::EXTENSION && !message.extensions.contains(&uri) {
                message.extensions.push(uri);
            }
        }
        if carries_activity {
            full_activity::carried(message)?;
        }
        Ok(())
    }

    /// Refuses a request that does not name an extension that the agent's card requires (3.3.4). The extended card is
    /// exempt, because it shows what is required.
    pub(super) fn require_extensions(&self, context: &Context, operation: Operation) -> Result<()> {
        let Some(agent) = self.turns.agent(&context.agent) else {
            return Ok(());
        };
        let offered = agent.card.capabilities.extensions.iter();
        let missing: Vec<&str> = offered
            .filter(|offer| offer.required && !context.extensions.contains(&offer.uri))
            .map(|offer| offer.uri.as_str())
            .collect();
        if missing.is_empty() || operation == Operation::GetExtendedAgentCard {
            return Ok(());
        }
        let missing = missing.join(", ");
        let message = format!("this agent requires an extension: send A2A-Extensions: {missing}");
        Err(Error::new(ErrorKind::ExtensionSupportRequired, message))
    }
}
