//! What those who run the bridge ask: whether it lives, whether it can serve, and how it does.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};

use crate::{metrics::MEDIA_TYPE, service::Service};

/// `/healthz`, `/readyz` and `/metrics`, of all agents together.
pub fn health(service: Service) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(service)
}

/// 200 if the task log answers, else 503.
async fn ready(State(service): State<Service>) -> impl IntoResponse {
    match service.is_ready().await {
        true => (StatusCode::OK, "ready"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the task log does not answer",
        ),
    }
}

async fn metrics(State(service): State<Service>) -> impl IntoResponse {
    ([(CONTENT_TYPE, MEDIA_TYPE)], service.measured().text())
}
