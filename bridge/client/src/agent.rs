//! An agent that calls are sent to.

use bridge_protocol::dialect::Call;
use futures_util::StreamExt as _;

use crate::{
    Binding, ClientError, Fault, Polls, Retries,
    http::Endpoint,
    sequence::Sequence,
    transport::{Items, Transport, answer::Answer},
};

/// One interface of an agent, ready to be called.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) endpoint: Endpoint,
    pub(crate) binding: Binding,
    pub(crate) tenant: Option<String>,
    /// Whether the card says that the agent streams; `None` if the card does not say.
    pub(crate) streaming: Option<bool>,
    pub(crate) retries: Retries,
    pub(crate) polls: Option<Polls>,
    pub(crate) must_stream: bool,
    pub(crate) transport: Transport,
}

impl Agent {
    /// Makes a call whose answer is one object.
    pub(crate) async fn ask<T: Answer>(&self, call: &Call) -> Result<T, Fault> {
        self.transport.call(&self.endpoint, call).await
    }

    /// Makes a call whose answer is a stream; see [`Transport::open`].
    pub(crate) async fn open(&self, call: &Call, after: Option<&str>) -> Result<Items, Fault> {
        let items = self.transport.open(&self.endpoint, call, after).await?;
        let sequence = self.endpoint.sequence;
        Ok(match sequence {
            Sequence::Absent => items,
            Sequence::Own | Sequence::Shared => {
                items.map(move |item| item.map(|item| item.numbered(sequence))).boxed()
            }
        })
    }

    /// Sets the tenant that the interface names, unless the call has one (specification 4.4.6).
    pub(crate) fn with_tenant(&self, mut call: Call) -> Call {
        if let Some(tenant) = self.tenant.as_ref().filter(|tenant| !tenant.is_empty()) {
            call.tenant_mut().get_or_insert_with(|| tenant.clone());
        }
        call
    }

    /// Adds the agent's and the operation's names to a fault, and masks the credentials that it may contain.
    pub(crate) fn named(&self, fault: Fault, call: &Call) -> ClientError {
        ClientError {
            binding: Some(self.binding),
            ..self.endpoint.named(fault, call.operation().name())
        }
    }
}
