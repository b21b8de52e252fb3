//! Agents while they are served: others may take their place without anybody noticing a gap.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

use axum::{Router, extract::Request};
use tower::{ServiceExt as _, service_fn};

use super::{Extras, Host, HostError, routes::routes, seats::Seat};
use crate::{service::Service, turns::Turns};

/// Agents that are served.
#[derive(Clone, Debug)]
pub struct Hosted {
    service: Service,
    public_url: String,
    extras: Extras,
    current: Arc<RwLock<Router>>,
}

impl Hosted {
    pub(super) fn new(
        service: Service,
        public_url: String,
        extras: Extras,
        seats: &[Seat],
    ) -> Self {
        let app = routes(&service, &public_url, &extras, seats);
        Self {
            service,
            public_url,
            extras,
            current: Arc::new(RwLock::new(app)),
        }
    }

    /// The routes of the agents of now, whoever they are when a request comes.
    pub fn router(&self) -> Router {
        let current = self.current.clone();
        let service = service_fn(move |request: Request| {
            let app = current
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            async move { app.oneshot(request).await }
        });
        Router::new().fallback_service(service)
    }

    /// Puts a host's agents and paths in the place of those that are served, all at once. What runs goes
    /// on: requests and streams that are open, and turns, which end with the agent that they began with.
    /// The host's store and all else it says is not looked at. What was left open by agents that were not
    /// hosted until now is taken up.
    ///
    /// # Errors
    /// If a name or a path is doubtful or there twice; then nothing has changed.
    pub fn replace(&self, host: Host) -> Result<(), HostError> {
        let seats = host.seats()?;
        let app = routes(&self.service, &self.public_url, &self.extras, &seats);
        let turns = self.service.turns();
        let added = turns.replace(host.agents);
        self.service.extend_cards(host.extended);
        turns.keep_expiring();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = app;
        if !added.is_empty() {
            tokio::spawn(take_up(turns.clone(), added));
        }
        Ok(())
    }

    /// The routes of the agents of now, who will stay.
    pub(super) fn current(&self) -> Router {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Takes up what was left open by agents that were not hosted before.
async fn take_up(turns: Turns, added: BTreeSet<String>) {
    match turns.take_up(&added).await {
        Ok(taken_up) => tracing::info!(taken_up, "open tasks of new agents were taken up"),
        Err(error) => {
            tracing::error!(%error, "open tasks of new agents wait for a restart");
        }
    }
}
