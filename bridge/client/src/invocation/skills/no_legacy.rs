//! In the place of the oldest dialects, in builds without the feature `legacy`: there is no such transport.

use bridge_protocol::a2a::{CancelTaskRequest, GetTaskRequest};
use url::Url;

use super::{Invocation, Outcome, Result};
use crate::{ClientError, Fault, Options, discovery::Discovered};

/// This build has no such transport.
#[derive(Debug)]
pub(super) enum LegacyTransport {}

impl LegacyTransport {
    pub(super) fn tasks_send(
        base: &Url,
        agent: &Discovered,
        _: &Options,
    ) -> Result<Self, ClientError> {
        Err(unsupported(base, agent))
    }

    pub(super) fn execute(
        base: &Url,
        agent: &Discovered,
        _: &Options,
    ) -> Result<Self, ClientError> {
        Err(unsupported(base, agent))
    }

    pub(super) fn has_tasks(&self) -> bool {
        match *self {}
    }

    pub(super) async fn send(&self, _: &Discovered, _: &Invocation) -> Result<Outcome> {
        match *self {}
    }

    pub(super) async fn get(&self, _: &Discovered, _: GetTaskRequest) -> Result<Outcome> {
        match *self {}
    }

    pub(super) async fn cancel(&self, _: &Discovered, _: CancelTaskRequest) -> Result<Outcome> {
        match *self {}
    }
}

fn unsupported(base: &Url, agent: &Discovered) -> ClientError {
    let fault = Fault::NoInterface {
        offered: agent.endpoint.name(),
        needed: "A2A 0.3 or 1.0, as this build has no older dialects".to_owned(),
    };
    fault.of(base, "card")
}
