//! What those who run the bridge ask: whether it lives, whether it can serve, and how it does.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};

use super::readiness::{Readiness, State as Ready};
use crate::{metrics::MEDIA_TYPE, service::Service};

/// `/healthz`, `/readyz` and `/metrics`, of all agents together.
pub fn health(service: Service, readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready).with_state(readiness))
        .route("/metrics", get(metrics))
        .with_state(service)
}

/// 200 if the task log takes what is said and the program is not asked to stop, else 503.
async fn ready(State(readiness): State<Readiness>) -> impl IntoResponse {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    match readiness.state().await {
        Ready::Ready => (StatusCode::OK, "ready"),
        Ready::Stopping => (unavailable, "stopping"),
        Ready::Silent => (unavailable, "the task log does not answer"),
        Ready::Full => (unavailable, "no room is left for the task log"),
        Ready::Rebuilding => (unavailable, "the task log's index is being made anew"),
        Ready::Failed => (unavailable, "the task log has failed"),
    }
}

async fn metrics(State(service): State<Service>) -> impl IntoResponse {
    ([(CONTENT_TYPE, MEDIA_TYPE)], service.measured().text())
}
