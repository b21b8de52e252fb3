//! What those who run the bridge ask: whether it lives, whether it can serve, and how it does.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};

use tokio::sync::watch;

use crate::{metrics::MEDIA_TYPE, service::Service, store::StoreError};

/// Knows whether the bridge can serve.
#[derive(Clone, Debug)]
pub struct Readiness {
    service: Service,
    stopping: Option<watch::Receiver<bool>>,
}

/// Whether it can, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadinessState {
    Ready,
    /// It was asked to stop, and only ends what is open.
    Stopping,
    /// The task log does not answer.
    Silent,
    /// The task log has no room left: what was kept is served, nothing new is taken.
    Full,
    /// The task log's index is being made anew.
    Rebuilding,
    /// The task log failed otherwise, and says how in the program's log.
    Failed,
}

impl Readiness {
    /// Of this service, until `stopping` becomes true; for ever without one.
    pub fn new(service: Service, stopping: Option<watch::Receiver<bool>>) -> Self {
        Self { service, stopping }
    }

    /// Of now.
    pub(super) async fn state(&self) -> ReadinessState {
        if self.stopping.as_ref().is_some_and(|stop| *stop.borrow()) {
            return ReadinessState::Stopping;
        }
        match self.service.ready().await {
            Some(Ok(())) => ReadinessState::Ready,
            Some(Err(StoreError::Full { .. })) => ReadinessState::Full,
            Some(Err(StoreError::Rebuilding)) => ReadinessState::Rebuilding,
            Some(Err(error)) => {
                if !error.is_reported_by_store() {
                    tracing::error!(%error, "the task log is not ready");
                }
                ReadinessState::Failed
            }
            None => ReadinessState::Silent,
        }
    }

    /// Comes when the bridge is asked to stop.
    pub(super) async fn stop(&self) {
        if let Some(mut stopping) = self.stopping.clone()
            && stopping.wait_for(|stops| *stops).await.is_ok()
        {
            return;
        }
        // Nobody is left who could ask for it.
        std::future::pending::<()>().await;
    }
}

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
        ReadinessState::Ready => (StatusCode::OK, "ready"),
        ReadinessState::Stopping => (unavailable, "stopping"),
        ReadinessState::Silent => (unavailable, "the task log does not answer"),
        ReadinessState::Full => (unavailable, "no room is left for the task log"),
        ReadinessState::Rebuilding => (unavailable, "the task log's index is being made anew"),
        ReadinessState::Failed => (unavailable, "the task log has failed"),
    }
}

async fn metrics(State(service): State<Service>) -> impl IntoResponse {
    ([(CONTENT_TYPE, MEDIA_TYPE)], service.measured().text())
}
