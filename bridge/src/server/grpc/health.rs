//! `grpc.health.v1.Health`: the whole bridge under the empty name and the service's, and each agent under its
//! own.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use bridge_protocol::protobuf::SERVICE;
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use tokio::time::sleep;
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse,
    health_check_response::ServingStatus,
    health_server::{Health, HealthServer},
};

use crate::service::Service;

/// How often it is looked whether anything has changed for those who watch.
const LOOK: Duration = Duration::from_secs(5);

pub(super) fn router(service: Service, agents: Vec<String>) -> Router {
    let health = HealthServer::new(Checked(Arc::new((service, agents))));
    Router::new().route_service("/grpc.health.v1.Health/{method}", health)
}

#[derive(Clone)]
struct Checked(Arc<(Service, Vec<String>)>);

impl Checked {
    async fn status(&self, name: &str) -> ServingStatus {
        let (service, agents) = &*self.0;
        let is_known = name.is_empty() || name == SERVICE || agents.iter().any(|one| one == name);
        match is_known {
            false => ServingStatus::ServiceUnknown,
            true if service.is_ready().await => ServingStatus::Serving,
            true => ServingStatus::NotServing,
        }
    }
}

#[async_trait]
impl Health for Checked {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let name = request.into_inner().service;
        match self.status(&name).await {
            ServingStatus::ServiceUnknown => {
                let expected = format!("expected {SERVICE:?}, an agent's name, or nothing");
                Err(Status::not_found(format!("{expected}, found {name:?}")))
            }
            status @ (ServingStatus::Unknown
            | ServingStatus::Serving
            | ServingStatus::NotServing) => Ok(Response::new(answer(status))),
        }
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let name = request.into_inner().service;
        let changes = stream::unfold((self.clone(), name, None), async |(this, name, seen)| {
            let status = this.changed(&name, seen).await;
            Some((Ok(answer(status)), (this, name, Some(status))))
        });
        Ok(Response::new(changes.boxed()))
    }
}

impl Checked {
    /// The status as soon as it is another than was seen.
    async fn changed(&self, name: &str, seen: Option<ServingStatus>) -> ServingStatus {
        let mut status = self.status(name).await;
        while Some(status) == seen {
            sleep(LOOK).await;
            status = self.status(name).await;
        }
        status
    }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}
