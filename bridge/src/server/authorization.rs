//! Calls that need more than their agent asks of all: the extended card, which is for callers who are known
//! (specification 13.3), and skills that say so (4.4.5, 7.5).

use axum::{extract::FromRequestParts, http::request::Parts};
use bridge_protocol::dialect::Call;

use super::Endpoint;
use crate::{
    access::{Credentials, Refusal},
    caller::Caller,
};

/// Who asks, as the authentication in front of the router found out.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    pub(crate) caller: Caller,
    /// What they showed, if the agent asks for anything.
    credentials: Option<Credentials>,
}

impl<S: Send + Sync> FromRequestParts<S> for Requester {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let caller = parts.extensions.get().cloned();
        Ok(Self {
            caller: caller.unwrap_or_else(Caller::anonymous),
            credentials: parts.extensions.get().cloned(),
        })
    }
}

impl Endpoint {
    /// Refuses a call whose caller does not show what it needs: for the extended card, or for the first skill
    /// that it names which needs something else.
    pub(super) fn permit(&self, requester: &Requester, call: &Call) -> Result<(), Box<Refusal>> {
        match call {
            // Without such a card whoever asks is told just that.
            Call::GetExtendedAgentCard(_) if self.has_extended_card() => {
                self.check_credentials(requester, Credentials::identify)
            }
            call => self.check_credentials(requester, |credentials| credentials.permit(call)),
        }
    }

    fn has_extended_card(&self) -> bool {
        let card = self.service.card(&self.agent);
        card.is_some_and(|card| card.capabilities.extended_agent_card == Some(true))
    }

    /// The same for a skill that is called by its name.
    pub(super) fn permit_skill(
        &self,
        requester: &Requester,
        skill: &str,
    ) -> Result<(), Box<Refusal>> {
        self.check_credentials(requester, |credentials| credentials.permit_skill(skill))
    }

    fn check_credentials(
        &self,
        requester: &Requester,
        permit: impl FnOnce(&Credentials) -> Result<(), Box<Refusal>>,
    ) -> Result<(), Box<Refusal>> {
        let permitted = requester.credentials.as_ref().map_or(Ok(()), permit);
        permitted.inspect_err(|refusal| {
            let metrics = self.service.measured();
            metrics.refused(&self.agent, refusal.name(), refusal.scheme());
        })
    }
}
