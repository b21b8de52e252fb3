//! Whether the bridge can serve, as it is told over HTTP and over gRPC.

use tokio::sync::watch;

use crate::{service::Service, store::StoreError};

/// Knows whether the bridge can serve.
#[derive(Clone, Debug)]
pub struct Readiness {
    service: Service,
    stopping: Option<watch::Receiver<bool>>,
}

/// Whether it can, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
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
    pub(super) async fn state(&self) -> State {
        if self.stopping.as_ref().is_some_and(|stop| *stop.borrow()) {
            return State::Stopping;
        }
        match self.service.ready().await {
            Some(Ok(())) => State::Ready,
            Some(Err(StoreError::Full { .. })) => State::Full,
            Some(Err(StoreError::Rebuilding)) => State::Rebuilding,
            Some(Err(error)) => {
                if !error.is_told() {
                    tracing::error!(%error, "the task log is not ready");
                }
                State::Failed
            }
            None => State::Silent,
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
