//! Health checks and metrics for operators: `/healthz`, `/readyz` and `/metrics`.

use axum::{
    Router,
    extract::State,
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY},
    },
    middleware::map_response,
    response::{IntoResponse, Response},
    routing::get,
};

use tokio::sync::watch;

use super::NO_SNIFFING;
use crate::{metrics::TextFormat, service::Service, store::StoreError};

/// Determines whether the bridge can serve requests.
#[derive(Clone, Debug)]
pub struct Readiness {
    service: Service,
    stopping: Option<watch::Receiver<bool>>,
}

impl Readiness {
    /// Creates the check for a service. It fails once `stopping` is true.
    pub fn new(service: Service, stopping: Option<watch::Receiver<bool>>) -> Self {
        Self { service, stopping }
    }

    /// Checks whether the bridge can serve requests. The error is the reason why it cannot. A bridge whose disk is full
    /// serves stored tasks, but accepts nothing new.
    pub(super) async fn check(&self) -> Result<(), &'static str> {
        if self.stopping.as_ref().is_some_and(|stop| *stop.borrow()) {
            return Err("stopping");
        }
        let ready = self.service.ready().await;
        match ready.ok_or("the task log does not answer")? {
            Ok(()) => Ok(()),
            Err(StoreError::Full { .. }) => Err("the disk of the task log is full"),
            Err(StoreError::Rebuilding) => Err("the task log's index is being rebuilt"),
            Err(StoreError::Unavailable { .. }) => {
                Err("the database of the task log is not available")
            }
            Err(error) => {
                if !error.is_reported_by_store() {
                    tracing::error!(%error, "the task log is not ready");
                }
                Err("the task log has failed")
            }
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
pub fn health(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        // Some caches, such as Varnish, repeat an answer for two minutes unless they are told not to.
        .layer(map_response(async |answer: Response| {
            ([(CACHE_CONTROL, "no-store")], [NO_SNIFFING], answer)
        }))
        .with_state(readiness)
}

/// Answers 200 if the task log can be written and the program was not asked to stop, else 503.
async fn ready(State(readiness): State<Readiness>) -> impl IntoResponse {
    match readiness.check().await {
        Ok(()) => (StatusCode::OK, "ready"),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason),
    }
}

async fn metrics(State(readiness): State<Readiness>, headers: HeaderMap) -> impl IntoResponse {
    let accepted = headers.get_all(ACCEPT).iter();
    let format = TextFormat::accepted(accepted.filter_map(|value| value.to_str().ok()));
    let headers = [(CONTENT_TYPE, format.media_type()), (VARY, "accept")];
    (headers, readiness.service.turns().measured().text(format))
}
