//! Serves gRPC: the service `lf.a2a.v1.A2AService` (specification, section 10) and that of 0.3, `a2a.v1.A2AService`, with
//! health and reflection.
//!
//! gRPC has one path for each method and none for agents, so the request's tenant selects the agent if there are
//! several. An agent NAME that is not the first has `tenant: NAME` in its card's interface; a tenant of that agent
//! follows after a slash, `NAME/TENANT`. A tenant that names no agent is a tenant of the first agent. 0.3 has no tenants,
//! so it reaches the first agent alone.
//!
//! - `agent_selection`: selects the agent for a request
//! - `call`: one request, its messages as bytes, its answer or error
//! - `deadline`: the time for which the client waits
//! - `health`: `grpc.health.v1.Health`

mod agent_selection;
mod call;
mod deadline;
mod health;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE},
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::post,
};
use bridge_protocol::{
    a2a::{Binding, Error},
    protobuf::{DESCRIPTOR, SERVICE, v0_3},
};

use super::{Endpoint, Readiness};

/// The beginning of gRPC's content types.
const GRPC: &[u8] = b"application/grpc";

/// The beginning of gRPC-Web's content types.
const GRPC_WEB: &[u8] = b"application/grpc-web";

/// The services of all versions.
const SERVICES: [&str; 2] = [SERVICE, v0_3::SERVICE];

/// Returns the routes of the services for one agent.
pub fn agent(endpoint: Endpoint) -> Router {
    let route = |router: Router<_>, service| router.route(&methods(service), post(call::handle));
    SERVICES
        .into_iter()
        .fold(Router::new(), route)
        .route_layer(endpoint.guard(Binding::Grpc))
        .with_state(Arc::new(endpoint))
}

/// Returns the route of all methods of a service.
fn methods(service: &str) -> String {
    format!("/{service}/{{method}}")
}

/// Returns the routes of the services for several agents, with health and reflection. `agents` has the name and the
/// [`agent`] routes of each; the first is the default. Requests have at most `body_limit` bytes.
pub fn router(readiness: Readiness, agents: Vec<(String, Router)>, body_limit: usize) -> Router {
    let names = agents.iter().map(|(name, _)| name.clone()).collect();
    reflection(agent_selection::select_agent_routes(agents, body_limit))
        .merge(health::router(readiness, names))
}

/// Restricts an app to gRPC, for a port that serves nothing else.
pub fn alone(app: Router) -> Router {
    app.layer(from_fn(async |request: Request, next: Next| match is_grpc(request.headers()) {
        true => next.run(request).await,
        false => no_grpc(),
    }))
}

/// Returns the answer to a request that is not processed.
pub(super) fn error_response(error: &Error) -> Response {
    call::status_of(error).into_http::<Body>()
}

/// Returns whether a request uses gRPC, judged by its content type. gRPC-Web, which browsers use, is another protocol.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|value| value.starts_with(GRPC) && !value.starts_with(GRPC_WEB))
}

/// Returns the answer to a request that does not use gRPC.
fn no_grpc() -> Response {
    let message = "this is gRPC: expected the content type application/grpc over HTTP/2";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, message).into_response()
}

/// Adds `grpc.reflection.v1` and, for older tools, `v1alpha`.
fn reflection(app: Router) -> Router {
    use tonic_reflection::pb::{v1, v1alpha};
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTOR)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // By default each version would describe only itself.
            .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(v1alpha::FILE_DESCRIPTOR_SET)
            .include_reflection_service(false)
    };
    match (described().build_v1(), described().build_v1alpha()) {
        (Ok(current), Ok(older)) => app
            .route_service("/grpc.reflection.v1.ServerReflection/{method}", current)
            .route_service("/grpc.reflection.v1alpha.ServerReflection/{method}", older),
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(%error, "reflection is not served: the descriptor is broken");
            app
        }
    }
}
