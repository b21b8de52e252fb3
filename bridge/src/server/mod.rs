//! How the operations are reached over HTTP: JSON-RPC, its streams, and agent cards.
//!
//! A transport reads and writes; it knows no store, and the rules are the service's. Whoever mounts the
//! router may put authentication before it: an [`axum::Extension`] with a [`Caller`] says who asks, and
//! everybody is anonymous without it.

mod card;
mod catalogue;
mod execute;
mod health;
mod jsonrpc;
mod legacy;
mod own;
mod render;
mod reply;
mod sse;
mod version;

use std::sync::Arc;

pub use health::health;

use axum::{
    Extension, Router,
    extract::{DefaultBodyLimit, FromRequestParts},
    http::request::Parts,
    routing::{get, post},
};

use crate::{caller::Caller, service::Service};

/// The largest body that is read, in bytes.
const BODY_LIMIT: usize = 32 << 20;

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
}

/// Where this request's client reaches the bridge, such as `https://agents.example`, as an
/// [`axum::Extension`] of whoever knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(pub String);

/// Where the cards of all agents are: as a list at `path`, and as links at `/.well-known/api-catalog`.
pub fn catalogue(path: &str, endpoints: Vec<Endpoint>) -> Router {
    let endpoints: Arc<[Endpoint]> = endpoints.into();
    Router::new()
        .route(path, get(catalogue::cards))
        .route("/.well-known/api-catalog", get(catalogue::links))
        .with_state(endpoints)
}

/// The routes of one agent below `path`, which is empty or begins with a slash and ends without.
pub fn router(path: &str, endpoint: Endpoint) -> Router {
    let at = |rest: &str| format!("{path}{rest}");
    let mut router = Router::new()
        .route(&at("/"), post(jsonrpc::post))
        .route(&at("/.well-known/agent-card.json"), get(card::current))
        .route(&at("/.well-known/agent.json"), get(card::legacy))
        .route(&at("/agent.json"), get(card::legacy))
        .route(&at("/agent-card"), get(execute::card))
        .route(&at("/execute"), post(execute::post))
        .route(&at("/tasks/send"), post(legacy::send))
        .route(&at("/tasks/get"), post(legacy::call))
        .route(&at("/tasks/cancel"), post(legacy::call));
    if !path.is_empty() {
        router = router.route(path, post(jsonrpc::post));
    }
    router
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(Arc::new(endpoint))
}

/// Who asks, as the authentication in front of the router found out.
pub(crate) struct Asker(pub(crate) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let known = Extension::<Caller>::from_request_parts(parts, state).await;
        Ok(Self(known.map_or_else(
            |_| Caller::anonymous(),
            |Extension(caller)| caller,
        )))
    }
}
