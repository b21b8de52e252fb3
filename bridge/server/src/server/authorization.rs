//! Authorizes calls that need more than the agent demands of every caller: the extended card, which needs an
//! authenticated caller (specification 13.3), and skills with additional requirements (4.4.5, 7.5).

use std::{net::IpAddr, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use bridge_protocol::dialect::Call;

use super::{Endpoint, Origin};
use crate::{
    access::{Credentials, Refusal},
    caller::Caller,
    quota,
    service::Context,
};

/// The caller of a request with its credentials, as determined by the authentication in front of the router.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    pub(crate) caller: Caller,
    /// The address from which the request came, if known.
    pub(crate) source: Option<IpAddr>,
    /// The URL at which the client reaches the bridge, if a layer named it.
    pub(crate) origin: Option<Origin>,
    /// The credentials that were presented, if the agent demands any.
    credentials: Option<Credentials>,
}

impl<S: Send + Sync> FromRequestParts<S> for Requester {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let caller = parts.extensions.get().cloned();
        Ok(Self {
            caller: caller.unwrap_or_else(Caller::anonymous),
            source: quota::source(&parts.extensions),
            origin: parts.extensions.get().cloned(),
            credentials: parts.extensions.get().cloned(),
        })
    }
}

impl Requester {
    /// Returns the context of an operation of this agent on behalf of the caller.
    pub(super) fn context(&self, agent: &Arc<str>) -> Context {
        Context { source: self.source, ..Context::new(Arc::clone(agent), self.caller.clone()) }
    }
}

impl Endpoint {
    /// Refuses a call without the credentials that it needs: for the extended card, or for the first named skill with
    /// requirements that are not met.
    pub(super) fn permit(&self, requester: &Requester, call: &Call) -> Result<(), Box<Refusal>> {
        match call {
            // If there is no extended card, the operation itself reports that.
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

    /// Does the same for a skill that is called by its name.
    #[cfg(feature = "legacy")]
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
            let metrics = self.service.turns().metrics();
            metrics.refused(&self.agent, refusal.name(), refusal.scheme());
        })
    }
}
