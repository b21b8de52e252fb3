//! Agents that are being served and can be replaced without interruption.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::{Router, extract::Request};
use tokio::time::{Instant, sleep};
use tower::{ServiceExt as _, service_fn};

use super::{Host, HostError, HostOptions, agent_routes::AgentRoute, bot_guesses, routes::routes};
use crate::{metrics::Metrics, service::Service, trace, turns::Turns};

/// The interval at which the number of turns is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Agents that are being served.
#[derive(Clone, Debug)]
pub struct HostedAgents {
    pub(super) service: Service,
    public_url: String,
    options: HostOptions,
    current: Arc<RwLock<Router>>,
}

impl HostedAgents {
    pub(super) fn new(
        service: Service,
        public_url: String,
        options: HostOptions,
        agent_routes: &[AgentRoute],
    ) -> Self {
        let app = routes(&service, &public_url, &options, agent_routes);
        Self { service, public_url, options, current: Arc::new(RwLock::new(app)) }
    }

    /// Returns the routes of the current agents, evaluated at each request. Other paths are answered with the place where
    /// all agents are listed.
    pub fn router(&self) -> Router {
        let current = self.current.clone();
        let service = service_fn(move |request: Request| {
            let app = current.read().unwrap_or_else(PoisonError::into_inner).clone();
            async move { app.oneshot(request).await }
        });
        Router::new().fallback_service(service)
    }

    /// Returns only the routes that bots call, for a separate address.
    pub fn callbacks(&self) -> Router {
        let channel = self.options.channel.clone();
        let app =
            channel.map(|channel| bot_guesses::guarded(channel, self.service.quota().clone()));
        trace::requests(app.unwrap_or_default())
    }

    /// Replaces agents and paths by those of a host, all at once. Open requests and streams continue, and running turns
    /// end with the agent with which they began. The host's store and other settings are ignored. Open tasks of agents
    /// that were not hosted before are resumed.
    ///
    /// # Errors
    /// Returns an error if a name or path is invalid or occurs twice; then nothing has changed.
    pub fn replace(&self, host: Host) -> Result<(), HostError> {
        let agent_routes = host.agent_routes()?;
        let app = routes(&self.service, &self.public_url, &self.options, &agent_routes);
        let turns = self.service.turns();
        let added = turns.replace(host.agents);
        self.service.extend_cards(host.extended);
        turns.start_expiry();
        if let Some(retention) = self.service.retention() {
            retention.replace(host.retention);
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = app;
        if !added.is_empty() {
            tokio::spawn(take_up(turns.clone(), added));
        }
        Ok(())
    }

    /// Begins to stop: streams are ended early, so that their clients resume them elsewhere, and new work is refused.
    /// Running turns continue, and all reads are served.
    pub fn drain(&self) {
        self.service.drain();
    }

    /// Begins to stop as [`drain`](Self::drain) does, and waits until no turn runs in this process, at most for `limit`.
    /// Whoever waits for a turn then is told to send the request again. Returns the number of turns that still run. If the
    /// process ends now, they end as failed at the next start, unless their agents are outside of this process.
    pub async fn drain_within(&self, limit: Duration) -> usize {
        self.drain();
        let end = Instant::now() + limit;
        while self.running_turns() > 0 && Instant::now() < end {
            sleep(LOOK).await;
        }
        self.service.end_waits();
        self.running_turns()
    }

    /// Returns the metrics for operators.
    pub fn metrics(&self) -> &Metrics {
        self.service.turns().metrics()
    }

    /// Returns the number of turns that run in this process.
    pub fn running_turns(&self) -> usize {
        self.service.turns().running()
    }

    /// Returns the routes of the current agents, which will not be replaced. Other paths are left to the app in which the
    /// routes are mounted.
    pub(super) fn current(&self) -> Router {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone().reset_fallback()
    }
}

/// Resumes the open tasks of agents that were not hosted before.
async fn take_up(turns: Turns, added: BTreeSet<String>) {
    match turns.recover_agents(&added).await {
        Ok(taken_up) => tracing::info!(taken_up, "open tasks of new agents were recovered"),
        Err(error) => {
            tracing::error!(%error, "open tasks of new agents wait for a restart");
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{
        AgentCard, ErrorKind, Message, Part, Role, SendMessageRequest, TaskState,
    };

    use super::*;
    use crate::{
        agent::Agent,
        caller::Caller,
        executor::{Executor, Turn, Update, async_trait},
        service::Context,
        store::MemoryStore,
    };

    /// An agent that works for as many seconds as it is told.
    struct Working;

    #[async_trait]
    impl Executor for Working {
        async fn execute(&self, turn: Turn) -> Vec<Update> {
            let seconds = turn.message.text().parse().unwrap();
            sleep(Duration::from_secs(seconds)).await;
            vec![Update::state(TaskState::Completed)]
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_stops_gives_running_turns_time() {
        for (seconds, left) in [("3", 0), ("30", 1)] {
            let agent = Agent::new("a", AgentCard::named("A", "Works"), Arc::new(Working));
            let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
            let hosted = host.start("http://localhost").await.unwrap();
            let message = Message::new("m", Role::User, vec![Part::text(seconds)]);
            let context = Context::new("a", Caller::anonymous());
            let sending = hosted.service.send_message(&context, SendMessageRequest::new(message));
            let draining = async {
                while hosted.running_turns() == 0 {
                    sleep(LOOK).await;
                }
                hosted.drain_within(Duration::from_secs(10)).await
            };
            let (sent, running) = tokio::join!(sending, draining);
            assert_eq!(running, left);
            // Nobody waits for a turn that continues elsewhere.
            let refused = sent.err().map(|error| error.kind);
            assert_eq!(refused, (left > 0).then_some(ErrorKind::Unavailable));
        }
    }
}
