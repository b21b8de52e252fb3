//! Health checks and metrics for operators: `/healthz`, `/readyz` and `/metrics`.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};

use tokio::sync::watch;

use crate::{metrics::MEDIA_TYPE, service::Service, store::StoreError};

/// Determines whether the bridge can serve requests.
#[derive(Clone, Debug)]
pub struct Readiness {
    service: Service,
    stopping: Option<watch::Receiver<bool>>,
}

/// Whether the bridge can serve requests, or the reason why it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadinessState {
    Ready,
    /// The program was asked to stop, and only finishes open requests.
    Stopping,
    /// The task log does not answer.
    Silent,
    /// The disk of the task log is full: stored tasks are served, but nothing new is accepted.
    Full,
    /// The task log's index is being rebuilt.
    Rebuilding,
    /// The database of the task log cannot be reached, or accepts nothing.
    Unavailable,
    /// The task log failed for another reason, which is logged.
    Failed,
}

impl Readiness {
    /// Creates the check for a service. It fails once `stopping` is true.
    pub fn new(service: Service, stopping: Option<watch::Receiver<bool>>) -> Self {
        Self { service, stopping }
    }

    /// Returns the current state.
    pub(super) async fn state(&self) -> ReadinessState {
        if self.stopping.as_ref().is_some_and(|stop| *stop.borrow()) {
            return ReadinessState::Stopping;
        }
        match self.service.ready().await {
            Some(Ok(())) => ReadinessState::Ready,
            Some(Err(StoreError::Full { .. })) => ReadinessState::Full,
            Some(Err(StoreError::Rebuilding)) => ReadinessState::Rebuilding,
            Some(Err(StoreError::Unavailable { .. })) => ReadinessState::Unavailable,
            Some(Err(error)) => {
                if !error.is_reported_by_store() {
                    tracing::error!(%error, "the task log is not ready");
                }
                ReadinessState::Failed
            }
            None => ReadinessState::Silent,
        }
    }

    /// Waits until the bridge is asked to stop.
    #[cfg(feature = "grpc")]
    pub(super) async fn stop(&self) {
        if let Some(mut stopping) = self.stopping.clone()
            && stopping.wait_for(|stops| *stops).await.is_ok()
        {
            return;
        }
        // The sender was dropped, so this never happens.
        std::future::pending::<()>().await;
    }
}

/// Returns the routes `/healthz`, `/readyz` and `/metrics` for all agents together.
pub fn health(service: Service, readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready).with_state(readiness))
        .route("/metrics", get(metrics))
        .with_state(service)
}

/// Answers 200 if the task log can be written and the program was not asked to stop, else 503.
async fn ready(State(readiness): State<Readiness>) -> impl IntoResponse {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    match readiness.state().await {
        ReadinessState::Ready => (StatusCode::OK, "ready"),
        ReadinessState::Stopping => (unavailable, "stopping"),
        ReadinessState::Silent => (unavailable, "the task log does not answer"),
        ReadinessState::Full => (unavailable, "the disk of the task log is full"),
        ReadinessState::Rebuilding => (unavailable, "the task log's index is being rebuilt"),
        ReadinessState::Unavailable => {
            (unavailable, "the database of the task log is not available")
        }
        ReadinessState::Failed => (unavailable, "the task log has failed"),
    }
}

async fn metrics(State(service): State<Service>) -> impl IntoResponse {
    ([(CONTENT_TYPE, MEDIA_TYPE)], service.measured().text())
}
