//! An agent that calls are sent to: its address, version, binding, limits and transport.

use bridge_protocol::{
    dialect::{Call, Version},
    wire::FieldError,
};
use futures_util::StreamExt as _;
use url::Url;

use crate::{
    Binding, ClientError, Credentials, Fault, Limits, Polls, Retries,
    sequence::Sequence,
    transport::{Items, Transport, reply::ReplyValue},
};

/// One interface of an agent, ready to be called.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) url: Url,
    pub(crate) version: Version,
    /// Whether it numbers the events of streams.
    pub(crate) sequence: Sequence,
    pub(crate) binding: Binding,
    pub(crate) tenant: Option<String>,
    /// Whether the card says that the agent streams; `None` if the card does not say.
    pub(crate) streaming: Option<bool>,
    pub(crate) limits: Limits,
    pub(crate) retries: Retries,
    pub(crate) polls: Option<Polls>,
    pub(crate) credentials: Credentials,
    pub(crate) transport: Transport,
}

impl Agent {
    /// Makes a call whose answer is one object.
    pub(crate) async fn ask<T: ReplyValue>(&self, call: &Call) -> Result<T, Fault> {
        let reply = self.transport.call(call).await?;
        T::from_reply(reply).ok_or_else(unexpected)
    }

    /// Makes a call whose answer is a stream; see [`Transport::open`].
    pub(crate) async fn open(&self, call: &Call, after: Option<&str>) -> Result<Items, Fault> {
        let items = self.transport.open(call, after).await?;
        let sequence = self.sequence;
        Ok(match sequence {
            Sequence::Absent => items,
            Sequence::Own | Sequence::Shared => {
                items.map(move |item| item.map(|item| item.numbered(sequence))).boxed()
            }
        })
    }

    /// Adds the agent's and the operation's names to a fault, and masks the credentials that it may contain.
    pub(crate) fn named(&self, fault: Fault, call: &Call) -> ClientError {
        ClientError {
            binding: Some(self.binding),
            ..self.credentials.mask_fault(fault).of(&self.url, call.operation().name())
        }
    }
}

fn unexpected() -> Fault {
    Fault::Invalid(FieldError::new("the operation's own answer", "another operation's"))
}
