//! The bindings of the specification (section 5) behind one interface.
//!
//! A [`Transport`] sends a [`Call`] and returns an [`Answer`] or a stream of [`Item`]s, both in the types of
//! 1.0. It does not choose interfaces or credentials, and does not resume broken streams.
//!
//! - [`json_rpc`]: JSON-RPC in 1.0, 0.3 and 0.1
//! - [`rest`]: HTTP+JSON in 1.0 and 0.3
//! - `grpc`: gRPC in 1.0 and 0.3, with the feature of that name
//! - [`sse`]: server-sent events, used by the first two
//! - [`version_json`]: the JSON of each version, for HTTP+JSON and for gRPC of 0.3, and events that deviate from it
//! - [`missing_ids`]: names messages and artifacts without an id
//! - [`answer`]: the answers of operations

pub(crate) mod answer;
#[cfg(feature = "grpc")]
pub(crate) mod grpc;
mod json_rpc;
mod missing_ids;
mod rest;
mod sse;
mod version_json;

use bridge_protocol::{
    a2a::StreamResponse,
    dialect::{Call, Losses},
};
use bridge_telemetry::{Instrument as _, Kind, fail, set, span};
use futures_util::stream::BoxStream;

use self::answer::Answer;
pub(crate) use self::json_rpc::JsonRpc;
use crate::{
    Fault,
    http::Endpoint,
    sequence::{Sequence, task_of},
    without_user,
};

/// The binding in which calls are sent to an interface.
#[derive(Debug)]
pub(crate) enum Transport {
    JsonRpc(JsonRpc),
    Rest,
    #[cfg(feature = "grpc")]
    Grpc(grpc::Grpc),
}

/// One event of a stream, with the id after which the server can resume the stream, if it assigned one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: Option<String>,
    /// The number of the event, if the agent numbers them.
    pub(crate) number: Option<u64>,
    pub(crate) event: StreamResponse,
}

impl Item {
    fn new(id: Option<String>, event: StreamResponse) -> Self {
        Self { id, number: None, event }
    }

    /// Returns the event with its number, by which the server can resume the stream with any binding.
    pub(crate) fn numbered(mut self, sequence: Sequence) -> Self {
        self.number = sequence.number(self.id.as_deref(), &mut self.event);
        if let (None, Some(number), Some(task)) = (&self.id, self.number, task_of(&self.event)) {
            self.id = Some(format!("{task}/{number}"));
        }
        self
    }
}

/// The events of a stream. Nothing follows after an error.
pub(crate) type Items = BoxStream<'static, Result<Item, Fault>>;

impl Transport {
    /// Makes a call whose answer is one object.
    pub(crate) async fn call<T: Answer>(&self, to: &Endpoint, call: &Call) -> Result<T, Fault> {
        let calling = async {
            match self {
                Self::JsonRpc(transport) => transport.call(to, call).await,
                Self::Rest => rest::call(to, call).await,
                #[cfg(feature = "grpc")]
                Self::Grpc(transport) => transport.call(to, call).await,
            }
        };
        traced(call, calling).await
    }

    /// Makes a call whose answer is a stream, starting after the event with the id `after`. A refusal is
    /// returned here and not as the first item.
    pub(crate) async fn open(
        &self,
        to: &Endpoint,
        call: &Call,
        after: Option<&str>,
    ) -> Result<Items, Fault> {
        let opening = async {
            match self {
                Self::JsonRpc(transport) => transport.open(to, call, after).await,
                Self::Rest => rest::open(to, call, after).await,
                #[cfg(feature = "grpc")]
                Self::Grpc(transport) => transport.open(to, call, after).await,
            }
        };
        traced(call, opening).await
    }
}

/// Makes a span of a call: the agent gets its trace context.
async fn traced<T>(
    call: &Call,
    calling: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let operation = call.operation().name();
    let span = span(Kind::Client, || operation.to_owned());
    set(&span, "rpc.method", operation);
    let called = calling.instrument(span.clone()).await;
    if called.is_err() {
        fail(&span, "fault");
    }
    called
}

/// Logs the parts of a call that the endpoint's version cannot express.
fn report(endpoint: &Endpoint, call: &Call, losses: &Losses) {
    // 0.1 needs a task id in the first message too, which takes nothing from the request.
    for loss in losses.iter().filter(|loss| loss.path != "message.taskId") {
        let operation = call.operation().name();
        tracing::warn!(agent = %without_user(&endpoint.url), operation, %loss, "this version cannot express a part of the request");
    }
}
