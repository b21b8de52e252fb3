//! Serves `grpc.health.v1.Health`. The empty name and the services' names stand for the whole bridge, and an agent's
//! name for the agent.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use tokio::time::sleep;
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse,
    health_check_response::ServingStatus,
    health_server::{Health, HealthServer},
};

use super::SERVICES;
use crate::server::health::Readiness;

/// The interval at which the status is checked for watchers.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

pub(super) fn router(readiness: Readiness, agents: Vec<String>) -> Router {
    let health = HealthServer::new(HealthService(Arc::new((readiness, agents))));
    Router::new().route_service("/grpc.health.v1.Health/{method}", health)
}

#[derive(Clone)]
struct HealthService(Arc<(Readiness, Vec<String>)>);

/// The last message to a watcher.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastSent {
    Nothing,
    Status(ServingStatus),
    /// The status at the end of the bridge, after which the stream ends.
    Last,
}

impl HealthService {
    async fn status(&self, name: &str) -> ServingStatus {
        let (readiness, agents) = &*self.0;
        let is_agent = agents.iter().any(|one| one == name);
        if !name.is_empty() && !SERVICES.contains(&name) && !is_agent {
            return ServingStatus::ServiceUnknown;
        }
        match readiness.check().await {
            Ok(()) => ServingStatus::Serving,
            Err(_) => ServingStatus::NotServing,
        }
    }

    /// Waits for a change of the status and returns it. When the bridge stops, every watcher gets a last status and its
    /// stream ends, because an open stream would delay the stop.
    async fn next(&self, name: &str, last_sent: LastSent) -> Option<(ServingStatus, LastSent)> {
        if last_sent == LastSent::Last {
            return None;
        }
        tokio::select! {
            biased;
            () = self.0.0.stop() => Some((self.status(name).await, LastSent::Last)),
            status = self.changed(name, last_sent) => Some((status, LastSent::Status(status))),
        }
    }

    async fn changed(&self, name: &str, last_sent: LastSent) -> ServingStatus {
        let mut status = self.status(name).await;
        while LastSent::Status(status) == last_sent {
            sleep(POLL_INTERVAL).await;
            status = self.status(name).await;
        }
        status
    }
}

#[async_trait]
impl Health for HealthService {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let name = request.into_inner().service;
        match self.status(&name).await {
            ServingStatus::ServiceUnknown => {
                let services = SERVICES.join(" or ");
                let expected = format!("expected {services}, an agent's name, or nothing");
                Err(Status::not_found(format!("{expected}, found {name:?}")))
            }
            status => Ok(Response::new(answer(status))),
        }
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let name = request.into_inner().service;
        let first = (self.clone(), name, LastSent::Nothing);
        let changes = stream::unfold(first, async |(this, name, last_sent)| {
            let (status, last_sent) = this.next(&name, last_sent).await?;
            Some((Ok(answer(status)), (this, name, last_sent)))
        });
        Ok(Response::new(changes.boxed()))
    }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
