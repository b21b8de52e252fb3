//! How the operations are reached over HTTP: JSON-RPC, HTTP+JSON, streams of both, gRPC, and agent cards.
//!
//! A transport reads and writes; it knows no store, and the rules are the service's. Whoever mounts the
//! router may put authentication before it: an [`axum::Extension`] with a [`Caller`](crate::caller::Caller) says who asks, and
//! everybody is anonymous without it.

mod agent_catalog;
mod authorization;
mod body;
mod card;
mod dialect;
#[cfg(feature = "grpc")]
pub mod grpc;
mod health;
mod jsonrpc;
mod large_body;
mod large_response;
mod openapi;
mod overload;
mod render;
mod rest;
mod service_parameters;
mod sse;

use std::sync::Arc;

pub use health::{Readiness, health};
pub use openapi::openapi;
pub use overload::refuse;

use axum::{
    Router,
    routing::{any, get, post},
};

use bridge_protocol::{
    a2a::Binding,
    dialect::{execute::CARD_PATH, places},
};

use self::{
    authorization::Requester,
    dialect::{execute, python_a2a},
    rest::MountedAgent,
};
use crate::{
    access::{Access, AccessLayer},
    auth::CardSigner,
    service::Service,
};

/// The largest body that is usually read, in bytes.
pub const BODY_LIMIT: usize = 16 << 20;

/// One agent and where it is reached.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The operations.
    pub service: Service,
    /// The agent's name.
    pub agent: String,
    /// Where all agents are reached from outside, without a slash at the end: cards say so, unless the
    /// request has an [`Origin`].
    pub public_url: String,
    /// The path of this one below that, empty or without a slash at the end.
    pub home: String,
    /// The path that is its alone, where HTTP+JSON also takes a tenant before its paths.
    pub own: String,
    /// Since when its card is as it is.
    pub since: jiff::Timestamp,
    /// How it is reached over gRPC, if it is.
    pub grpc: Option<GrpcInterface>,
    /// What callers have to show.
    pub access: Access,
    /// Whether tasks are answered to `message/send` of 0.3 wrapped and with a flat state.
    pub flat_results: bool,
    /// What the end of its turns means, in words, if that is known.
    pub turns: Option<String>,
    /// Who signs the agent's cards, if anybody does.
    pub signer: Option<Arc<CardSigner>>,
    /// The largest body that is read, in bytes.
    pub body_limit: usize,
}

/// How an agent is reached over gRPC, which knows no paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcInterface {
    /// Whether cards say so. `HOST:PORT`, which gRPC's channels are given, is no absolute URL, and some clients
    /// of other bindings refuse a whole card for it.
    pub is_listed: bool,
    /// `HOST:PORT`; where HTTP is reached if absent.
    pub address: Option<String>,
    /// How cards write it.
    pub form: GrpcAddress,
    /// The tenant that stands for the agent; absent for the one that is asked without.
    pub tenant: Option<String>,
}

/// How agent cards write where gRPC is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrpcAddress {
    /// As `HOST:PORT`, which the channels of most SDKs are given as it is.
    #[default]
    HostPort,
    /// As `http://HOST:PORT` or `https://HOST:PORT`: an absolute URL, as the specification has it (4.4.6), and as
    /// clients want it that check all addresses of a card.
    Url,
}

/// Where this request's client reaches the bridge, such as `https://agents.example`, as an
/// [`axum::Extension`] of whoever knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(pub String);

/// Where the cards of all agents are: as a list at `path`, and as links at `/.well-known/api-catalog`.
pub fn agent_catalog(path: &str, endpoints: Vec<Endpoint>) -> Router {
    let endpoints: Arc<[Endpoint]> = endpoints.into();
    Router::new()
        .route(path, get(agent_catalog::cards))
        .route("/.well-known/api-catalog", get(agent_catalog::links))
        .with_state(endpoints)
}

/// The routes of one agent below `path`, which is empty or begins with a slash and ends without.
///
/// Whatever is below a path that is not empty is the agent's; an empty one leaves what it does not know to
/// the app that it is mounted in.
pub fn router(path: &str, endpoint: Endpoint) -> Router {
    let at = |place: &str| places::below(path, place);
    // What stands before the operations does not stand before the cards, which anybody may read.
    let operations = json_rpc(path)
        .route_layer(endpoint.guard(Binding::JsonRpc))
        .merge(http_json(path).route_layer(endpoint.guard(Binding::HttpJson)));
    operations
        .route(&at(places::CURRENT), get(card::current))
        .route(&at(places::BEFORE), get(card::legacy))
        .route(&at(places::PYTHON), get(card::legacy))
        .route(&at(CARD_PATH), get(execute::card))
        .with_state(MountedAgent {
            endpoint: Arc::new(endpoint),
            path: path.into(),
        })
}

impl Endpoint {
    /// What stands before the operations, and counts whom it refuses.
    fn guard(&self, binding: Binding) -> AccessLayer {
        let layer = self.access.layer(binding);
        layer.counted(self.service.measured(), &self.agent)
    }
}

/// Where JSON-RPC is spoken, 0.1 in its own places among them.
fn json_rpc(path: &str) -> Router<MountedAgent> {
    let at = |rest: &str| format!("{path}{rest}");
    let rpc = || post(jsonrpc::post).fallback(rest::handle);
    let call = || post(python_a2a::call).fallback(rest::handle);
    let send = post(python_a2a::send).fallback(rest::handle);
    let router = Router::new()
        .route(&at("/"), rpc())
        .route(&at("/v1"), rpc())
        .route(&at("/v1/"), rpc())
        .route(&at("/tasks/send"), send)
        .route(&at("/tasks/get"), call())
        .route(&at("/tasks/cancel"), call())
        .route(&at("/execute"), post(execute::post));
    match path.is_empty() {
        true => router,
        false => router.route(path, rpc()),
    }
}

/// Where HTTP+JSON is spoken.
fn http_json(path: &str) -> Router<MountedAgent> {
    let router = Router::new();
    match path.is_empty() {
        true => BELOW.iter().fold(router, |router, below| {
            router.route(below, any(rest::handle))
        }),
        false => router.route(&format!("{path}/{{*rest}}"), any(rest::handle)),
    }
}

/// What HTTP+JSON has at an empty path.
const BELOW: [&str; 6] = [
    "/message:send",
    "/message:stream",
    "/tasks",
    "/tasks/{*rest}",
    "/extendedAgentCard",
    "/v1/{*rest}",
];
