//! GetExtendedAgentCard (specification 3.1.11).

use bridge_protocol::a2a::{AgentCard, Error, ErrorKind, GetExtendedAgentCardRequest};

use super::{Context, Service};

impl Service {
    /// The agent's card as an authenticated caller sees it, without interfaces.
    pub async fn extended_agent_card(
        &self,
        _context: &Context,
        _request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        Err(ErrorKind::ExtendedAgentCardNotConfigured.into())
    }
}
