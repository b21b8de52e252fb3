//! Whether the bridge can serve, as it is told over HTTP and over gRPC.

use tokio::sync::watch;

use crate::service::Service;

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
        match self.service.is_ready().await {
            true => State::Ready,
            false => State::Silent,
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
