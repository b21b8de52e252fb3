//! Serves the operations over HTTP: JSON-RPC, HTTP+JSON, streams of both, gRPC, and agent cards.
//!
//! A binding reads requests and writes responses. It does not know the store, and leaves all rules to the service. A
//! program that mounts the router may authenticate requests in front of it: an [`axum::Extension`] with a
//! [`Caller`](crate::caller::Caller) names the caller; without it every caller is anonymous.

mod agent_address;
mod agent_catalog;
mod authorization;
mod body;
mod card;
mod client_task_id;
#[cfg(feature = "grpc")]
pub mod grpc;
mod health;
mod jsonrpc;
mod large_body;
#[cfg(feature = "legacy")]
mod legacy;
mod openapi;
mod overload;
mod render;
mod rest;
mod service_parameters;
mod sse;
mod task_json;

use std::sync::Arc;

pub use health::{Readiness, health};
pub use openapi::openapi;
pub(crate) use overload::is_for_bots;
pub use overload::{is_reserved, reject};
pub(crate) use rest::{error_response, prefix};

use axum::{
    Router,
    http::{HeaderName, HeaderValue, header::X_CONTENT_TYPE_OPTIONS},
    routing::{any, get, post},
};

use bridge_protocol::{a2a::Binding, dialect::places};

use self::{authorization::Requester, rest::MountedAgent};
use crate::{
    access::{Access, AccessLayer},
    auth::CardSigner,
    service::Service,
};

/// The header of text that a browser may show: it must not take the text for HTML.
const NO_SNIFFING: (HeaderName, HeaderValue) =
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

/// The default limit on the size of request bodies, in bytes.
pub const BODY_LIMIT: usize = 16 << 20;

/// An agent with its addresses and settings.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The operations.
    pub service: Service,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The public URL of all agents, without a slash at the end. Cards contain it, unless the request has an
    /// [`Origin`].
    pub public_url: String,
    /// The agent's path below the public URL, empty or without a slash at the end.
    pub path: String,
    /// The path that belongs to this agent alone, where HTTP+JSON also accepts a tenant before its paths.
    pub own_path: String,
    /// The time of the card's last change.
    pub since: jiff::Timestamp,
    /// The place where the agent is served over gRPC.
    pub grpc: Grpc,
    /// The tenant that selects the agent over gRPC, which has no paths for agents; absent for the default agent.
    pub grpc_tenant: Option<String>,
    /// The credentials that callers need.
    pub access: Access,
    /// Whether `message/send` of 0.3 returns tasks wrapped and with a flat state, for minimal clients.
    pub flat_results: bool,
    /// A text that explains what the end of the agent's turns means, if known.
    pub turns: Option<String>,
    /// The signer of the agent's cards, if they are signed.
    pub signer: Option<Arc<CardSigner>>,
    /// The limit on the size of request bodies, in bytes.
    pub body_limit: usize,
}

/// The place where gRPC is served. It needs HTTP/2, which the server of the router must support, as this crate's own
/// `serve` does. Its clients call the root of a port, never a path: an app that nests the router under a prefix also adds
/// it at the root, such as with [`Router::fallback_service`](axum::Router::fallback_service).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grpc {
    /// At the port of HTTP, without an entry in cards.
    #[cfg_attr(feature = "grpc", default)]
    Here,
    /// At the port of HTTP, with an entry in cards.
    Listed {
        /// The `HOST:PORT` in cards; the one of HTTP if absent.
        address: Option<String>,
        /// The form of the address in cards.
        form: GrpcAddress,
    },
    /// Not at all; the only choice without the feature `grpc`.
    #[cfg_attr(not(feature = "grpc"), default)]
    Nowhere,
}

/// The form of gRPC addresses in agent cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrpcAddress {
    /// `HOST:PORT`, which the channels of most SDKs take unchanged.
    #[default]
    HostPort,
    /// `http://HOST:PORT` or `https://HOST:PORT`: an absolute URL, as required by the specification (4.4.6) and by
    /// clients that check all addresses of a card.
    Url,
}

/// The URL at which this request's client reaches the bridge, such as `https://agents.example`. A layer that knows it
/// adds it as an [`axum::Extension`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(pub String);

/// Returns the routes of the agent catalog: a list of all cards at `path`, and links at `/.well-known/api-catalog`.
pub fn agent_catalog(path: &str, endpoints: Vec<Endpoint>) -> Router {
    let endpoints: Arc<[Endpoint]> = endpoints.into();
    Router::new()
        .route(path, get(agent_catalog::cards))
        .route("/.well-known/api-catalog", get(agent_catalog::links))
        .with_state(endpoints)
}

/// Returns the routes of one agent below `path`, which is empty, or begins with a slash and does not end with one.
///
/// The agent answers every request below a path that is not empty. At an empty path, unknown requests are left to the
/// app in which the routes are mounted.
pub fn router(path: &str, endpoint: Endpoint) -> Router {
    let at = |place: &str| places::below(path, place);
    // Access control applies to the operations only: everybody may read the cards.
    let operations = json_rpc(path, &endpoint.guard(Binding::JsonRpc))
        .merge(http_json(path).route_layer(endpoint.guard(Binding::HttpJson)));
    let routes = operations
        .route(&at(places::CURRENT), get(card::current))
        .route(&at(places::BEFORE), get(card::before));
    #[cfg(feature = "legacy")]
    let routes = legacy::with_cards(routes, path);
    routes.with_state(MountedAgent { endpoint: Arc::new(endpoint), path: path.into() })
}

impl Endpoint {
    /// Returns the access control for the operations. It counts refusals, and holds callers to their limits.
    fn guard(&self, binding: Binding) -> AccessLayer {
        let (metrics, quota) = (self.service.turns().metrics(), self.service.quota());
        self.access.layer(binding).counted(&self.agent, metrics, quota)
    }
}

fn json_rpc(path: &str, guard: &AccessLayer) -> Router<MountedAgent> {
    let at = |rest: &str| format!("{path}{rest}");
    let rpc = || post(jsonrpc::post).fallback(rest::handle);
    let router = Router::new().route(&at("/v1"), rpc()).route(&at("/v1/"), rpc());
    #[cfg(feature = "legacy")]
    let router = legacy::with_operations(router, path);
    let router = router.route_layer(guard.clone());
    // Health checks have no credentials.
    let address = || post(jsonrpc::post).route_layer(guard.clone()).fallback(agent_address::handle);
    let router = router.route(&at("/"), address());
    if path.is_empty() { router } else { router.route(path, address()) }
}

fn http_json(path: &str) -> Router<MountedAgent> {
    let router = Router::new();
    match path.is_empty() {
        true => BELOW.iter().fold(router, |router, below| router.route(below, any(rest::handle))),
        false => router.route(&format!("{path}/{{*rest}}"), any(rest::handle)),
    }
}

/// The paths of HTTP+JSON for an agent at an empty path.
const BELOW: [&str; 6] = [
    "/message:send",
    "/message:stream",
    "/tasks",
    "/tasks/{*rest}",
    "/extendedAgentCard",
    "/v1/{*rest}",
];
