//! The router of all agents and the routes beside them.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::NestedPath,
    http::{HeaderMap, Uri},
    response::Response,
};
use bridge_protocol::a2a::{Error, ErrorKind};

use super::{
    HostOptions,
    agent_routes::{AgentRoute, CLIENT_0_3_PATH},
    bot_guesses,
};
use crate::{
    auth, clock,
    server::{
        BODY_LIMIT, Endpoint, Readiness, agent_catalog, error_response, health, openapi, prefix,
        router,
    },
    service::Service,
    trace,
};

/// The path of the catalogue with the cards of all agents.
const CATALOGUE: &str = "/a2a/catalog";

/// Returns the routes of all agents, and the routes beside them.
pub(super) fn routes(
    service: &Service,
    public_url: &str,
    options: &HostOptions,
    agent_routes: &[AgentRoute],
) -> Router {
    let readiness = Readiness::new(service.clone(), options.stopping.clone());
    let mut app = Router::new();
    if let Some(channel) = &options.channel {
        app = app.merge(bot_guesses::guarded(channel.clone(), service.quota().clone()));
    }
    if let Some(issuer) = &options.issuer {
        app = app.merge(auth::router(issuer.clone()));
    }
    if let Some(signer) = &options.signer {
        app = app.merge(auth::card_keys(signer));
    }
    let mut all = Vec::new();
    for (index, agent_route) in agent_routes.iter().enumerate() {
        let own = agent_route.path.as_str();
        let (home, others) = match index {
            0 if own == CLIENT_0_3_PATH => (own, vec!["", own]),
            0 if own.starts_with("/a2a/") => ("/a2a", vec!["", own, "/a2a"]),
            0 => (own, vec!["", own, "/a2a"]),
            _ => (own, vec![own]),
        };
        let endpoint = Endpoint {
            service: service.clone(),
            agent: Arc::clone(&agent_route.agent),
            public_url: public_url.to_owned(),
            path: home.to_owned(),
            own_path: own.to_owned(),
            since: clock::now(),
            grpc: options.grpc.clone(),
            grpc_tenant: (index > 0).then(|| agent_route.agent.to_string()),
            access: agent_route.access.clone(),
            flat_results: agent_route.flat_results,
            turns: agent_route.turns.clone(),
            signer: options.signer.clone(),
            body_limit: options.body_limit.unwrap_or(BODY_LIMIT),
        };
        for path in others {
            // A card at the agent's own path stays true if another agent becomes the first one, and gateways put their
            // own address in front of what lies below that path.
            let named = if path == own { own } else { home };
            let endpoint = Endpoint { path: named.to_owned(), ..endpoint.clone() };
            app = app.merge(router(path, endpoint));
        }
        all.push(endpoint);
    }
    // Orchestrators check health all the time, which is not worth a trace.
    trace::requests(with_grpc(app, readiness.clone(), &all))
        .merge(health(readiness))
        .merge(openapi(all.clone()))
        .merge(agent_catalog(CATALOGUE, all))
        .fallback(unknown_path)
}

#[cfg(feature = "grpc")]
fn with_grpc(app: Router, readiness: Readiness, agents: &[Endpoint]) -> Router {
    use crate::server::{Grpc, grpc};
    let spoken = agents.iter().filter(|one| one.grpc != Grpc::Nowhere);
    let spoken = spoken.map(|one| (one.agent.to_string(), grpc::agent(one.clone())));
    match spoken.collect::<Vec<_>>() {
        none if none.is_empty() => app,
        named => {
            let limit = agents.first().map_or(BODY_LIMIT, |agent| agent.body_limit);
            app.merge(grpc::router(readiness, named, limit))
        }
    }
}

#[cfg(not(feature = "grpc"))]
fn with_grpc(app: Router, _: Readiness, _: &[Endpoint]) -> Router {
    app
}

/// Answers requests to paths of no agent.
async fn unknown_path(
    nested: Option<Extension<NestedPath>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let (prefix, path) = (prefix(nested.as_deref()), uri.path());
    let message =
        format!("there is nothing at {prefix}{path}: all agents are listed at {prefix}{CATALOGUE}");
    error_response(&headers, Error::new(ErrorKind::MethodNotFound, message))
}
