//! How calls are carried: the bindings of the specification (section 5) behind one seam.
//!
//! A [`Transport`] carries a [`Call`] and brings a [`Reply`], or a stream of [`Item`]s, both in the types
//! of 1.0. What it does not know: which interface was chosen, who asks, what becomes of a broken stream.
//!
//! - [`json_rpc`]: JSON-RPC in 1.0, 0.3 and 0.1
//! - [`rest`]: HTTP+JSON in 1.0 and 0.3
//! - `grpc`: gRPC in 1.0, with the feature of that name
//! - [`sse`]: the events that both of the others stream
//! - [`stray`]: events that are not quite as their version has them
//! - [`reply`]: what comes back

#[cfg(feature = "grpc")]
pub(crate) mod grpc;
mod json_rpc;
pub(crate) mod reply;
mod rest;
mod sse;
mod stray;

use bridge_protocol::{
    a2a::StreamResponse,
    dialect::{Call, Losses},
};
use futures_util::stream::BoxStream;

use self::reply::Reply;
pub(crate) use self::{json_rpc::JsonRpc, rest::Rest};
use crate::{Fault, http::Endpoint};

/// Carries calls in one binding and version to one interface.
#[derive(Debug)]
pub(crate) enum Transport {
    JsonRpc(JsonRpc),
    Rest(Rest),
    #[cfg(feature = "grpc")]
    Grpc(grpc::Grpc),
}

/// One event of a stream, with the id under which the server takes the stream up again, if it gave one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: Option<String>,
    pub(crate) event: StreamResponse,
}

/// The events of a stream. Its end is the stream's own; after an error nothing comes.
pub(crate) type Items = BoxStream<'static, Result<Item, Fault>>;

impl Transport {
    /// Makes a call whose answer is one object.
    pub(crate) async fn call(&self, call: &Call) -> Result<Reply, Fault> {
        match self {
            Self::JsonRpc(transport) => transport.call(call).await,
            Self::Rest(transport) => transport.call(call).await,
            #[cfg(feature = "grpc")]
            Self::Grpc(transport) => transport.call(call).await,
        }
    }

    /// Makes a call whose answer is a stream, of which only what comes after the event of the id `after`
    /// is wanted. A refusal is told here already, not by the first item.
    pub(crate) async fn open(&self, call: &Call, after: Option<&str>) -> Result<Items, Fault> {
        match self {
            Self::JsonRpc(transport) => transport.open(call, after).await,
            Self::Rest(transport) => transport.open(call, after).await,
            #[cfg(feature = "grpc")]
            Self::Grpc(transport) => transport.open(call, after).await,
        }
    }
}

/// Logs what the endpoint's version cannot say of a call.
fn report(endpoint: &Endpoint, call: &Call, losses: &Losses) {
    for loss in losses {
        let operation = call.operation().name();
        tracing::warn!(agent = %endpoint.url, operation, %loss, "not sayable in this version");
    }
}
