//! In the place of the oldest dialects, in builds without the feature `legacy`: there is no such transport.

use bridge_protocol::dialect::Call;

use super::{Invocation, Outcome, Result};
use crate::{ClientError, Fault, Options, discovery::Discovered};

/// This build has no such transport.
#[derive(Debug)]
pub(super) enum LegacyTransport {}

impl LegacyTransport {
    pub(super) fn new(agent: &Discovered, _: &Options) -> Result<Self, ClientError> {
        let fault = Fault::NoInterface {
            offered: agent.endpoint.name(),
            needed: "A2A 0.3 or 1.0, as this build has no older dialects".to_owned(),
        };
        Err(fault.of(agent.endpoint.url(), "card"))
    }

    pub(super) fn has_tasks(&self) -> bool {
        match *self {}
    }

    pub(super) async fn send(&self, _: &Discovered, _: &Invocation) -> Result<Outcome> {
        match *self {}
    }

    pub(super) async fn task(&self, _: &Discovered, _: &Call) -> Result<Outcome> {
        match *self {}
    }
}
