//! Selects one of several agents for a request: the one that the tenant names, or else the first.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::Uri,
    response::{IntoResponse as _, Response},
    routing::post,
};
use bridge_protocol::{
    dialect::{Call, Version},
    protobuf::{called, tenant},
};
use tokio::time::timeout;
use tonic::Status;
use tower::ServiceExt as _;

use super::{SERVICES, call::status_of_body, methods};

/// The length of the prefix of a message, which contains its compression flag and length.
const FRAME: usize = 5;

/// The time limit for the arrival of a request.
const ARRIVAL: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct AgentTable {
    all: Arc<[(String, Router)]>,
    /// The limit on the size of requests, in bytes.
    body_limit: usize,
}

/// Returns the routes of several agents at the same path. A single agent gets all requests.
pub(super) fn select_agent_routes(mut agents: Vec<(String, Router)>, body_limit: usize) -> Router {
    if agents.len() < 2 {
        return agents.pop().map(|(_, router)| router).unwrap_or_default();
    }
    let route = |router: Router<_>, service| router.route(&methods(service), post(pass_on));
    let routes = SERVICES.into_iter().fold(Router::new(), route);
    routes.with_state(AgentTable { all: agents.into(), body_limit })
}

async fn pass_on(State(agents): State<AgentTable>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = match timeout(ARRIVAL, to_bytes(body, agents.body_limit + FRAME)).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => {
            let too_large = || {
                let message = format!("expected at most {} bytes: {error}", agents.body_limit);
                Status::resource_exhausted(message)
            };
            return refused(status_of_body().unwrap_or_else(too_large));
        }
        Err(_) => {
            return refused(Status::deadline_exceeded("the request did not arrive in time"));
        }
    };
    let Some(router) = routes_for(&agents.all, &parts.uri, &body) else {
        return refused(Status::unimplemented("there is no agent"));
    };
    let request = Request::from_parts(parts, Body::from(body));
    router.clone().oneshot(request).await.into_response()
}

fn refused(status: Status) -> Response {
    status.into_http::<Body>()
}

/// Returns the routes of the agent that a request names. A request that cannot be read goes to the first agent, which
/// refuses it.
fn routes_for<'a>(agents: &'a [(String, Router)], uri: &Uri, body: &Bytes) -> Option<&'a Router> {
    let message = body.get(FRAME..).unwrap_or_default();
    let tenant = match called(uri.path()) {
        Some((Version::V1_0, operation)) => tenant(operation, message),
        Some((Version::V0_1 | Version::V0_3, _)) | None => None,
    };
    let tenant = tenant.unwrap_or_default();
    let (name, _) = split_tenant(&tenant);
    let named = agents.iter().find(|(agent, _)| agent == name);
    named.or(agents.first()).map(|(_, router)| router)
}

/// Removes the agent's own name from a call's tenant.
pub(super) fn without_name(call: &mut Call, agent: &str) {
    let tenant = call.tenant_mut();
    let rest = match tenant.as_deref().map(split_tenant) {
        Some((name, rest)) if name == agent => rest.map(str::to_owned),
        Some(_) | None => return,
    };
    *tenant = rest;
}

/// Splits a tenant at its first slash into an agent's name and the rest.
fn split_tenant(tenant: &str) -> (&str, Option<&str>) {
    match tenant.split_once('/') {
        Some((name, rest)) => (name, Some(rest).filter(|rest| !rest.is_empty())),
        None => (tenant, None),
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::GetTaskRequest;

    use super::*;

    fn get(tenant: Option<&str>) -> Call {
        let tenant = tenant.map(str::to_owned);
        Call::GetTask(GetTaskRequest { tenant, ..GetTaskRequest::new("t-1") })
    }

    #[test]
    fn an_agents_name_is_removed_from_the_tenant() {
        for (sent, kept) in [
            (None, None),
            (Some("echo"), None),
            (Some("echo/"), None),
            (Some("echo/acme"), Some("acme")),
            (Some("acme"), Some("acme")),
            (Some("acme/echo"), Some("acme/echo")),
        ] {
            let mut call = get(sent);
            without_name(&mut call, "echo");
            assert_eq!(call, get(kept), "{sent:?}");
        }
    }
}
