//! Where everything is put together: agents, store, turns, service and server become one [`Router`].
//!
//! A library user mounts the router in an axum app of their own, with their own authentication in front
//! of it giving an [`axum::Extension`] with the [`Caller`](crate::caller::Caller); the `bridge` program
//! serves it as it is.

use std::{collections::BTreeSet, sync::Arc};

use axum::Router;

use crate::{
    agent::Agent,
    bot::remote::Channel,
    connector,
    server::{Endpoint, health, router},
    service::{Service, Settings},
    store::Store,
    turns::{TurnError, Turns},
};

/// Agents that are hosted together.
#[derive(Debug)]
pub struct Host {
    agents: Vec<Agent>,
    store: Arc<dyn Store>,
    settings: Settings,
    channel: Option<Channel>,
}

/// Why agents cannot be hosted.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is nothing to host.
    #[error("there is no agent to host: name at least one")]
    NoAgent,
    /// Two agents would have the same address and the same tasks.
    #[error("two agents are called {0:?}: give each a name of its own")]
    Twice(String),
    /// A name that cannot stand in a path.
    #[error("{0:?} is no name for an agent: use letters, digits, - and _")]
    Name(String),
    /// What was left open cannot be taken up again.
    #[error("the tasks that were left open cannot be taken up: {0}")]
    Recover(#[source] TurnError),
}

impl Host {
    /// Hosts these agents with their tasks in this store; the first is also found at `/a2a` and `/`.
    pub fn new(store: Arc<dyn Store>, agents: impl IntoIterator<Item = Agent>) -> Self {
        Self {
            agents: agents.into_iter().collect(),
            store,
            settings: Settings::default(),
            channel: None,
        }
    }

    /// With the routes that the bots of this channel call.
    ///
    /// ```
    /// use bridge::bot::remote::{Channel, ChannelSettings, RemoteBot};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = std::sync::Arc::new(bridge::store::MemoryStore::new());
    /// let here = "http://127.0.0.1:3978".parse()?;
    /// let channel = Channel::new(store.clone(), ChannelSettings::at(here))?;
    /// let bot = RemoteBot::new("assistant", "http://127.0.0.1:3979/api/messages".parse()?);
    /// let host = bridge::host::Host::new(store, [channel.agent(bot)]).connector(channel);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn connector(mut self, channel: Channel) -> Self {
        self.channel = Some(channel);
        self
    }

    /// With other settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Takes up what was left open and gives the routes of all agents. `public_url` is where the router
    /// is reached from outside, such as `http://localhost:3978`.
    ///
    /// # Errors
    /// If a name is missing, doubtful or there twice, or the store cannot be read.
    pub async fn router(self, public_url: &str) -> Result<Router, HostError> {
        self.check()?;
        let public_url = public_url.trim_end_matches('/');
        let names: Vec<String> = self.agents.iter().map(|agent| agent.name.clone()).collect();
        let turns = Turns::new(self.store, self.agents);
        let taken_up = turns.recover().await.map_err(HostError::Recover)?;
        tracing::info!(taken_up, "open tasks were taken up");
        let service = Service::new(turns, self.settings);
        let mut app = health(service.clone());
        if let Some(channel) = self.channel {
            app = app.merge(connector::router(channel));
        }
        for (index, name) in names.iter().enumerate() {
            let own = format!("/a2a/{name}");
            let (home, others) = match index {
                0 => ("/a2a", vec!["", own.as_str(), "/a2a"]),
                _ => (own.as_str(), vec![own.as_str()]),
            };
            let endpoint = Endpoint {
                service: service.clone(),
                agent: name.clone(),
                public_url: format!("{public_url}{home}"),
            };
            for path in others {
                app = app.merge(router(path, endpoint.clone()));
            }
        }
        Ok(app)
    }

    fn check(&self) -> Result<(), HostError> {
        if self.agents.is_empty() {
            return Err(HostError::NoAgent);
        }
        let mut names = BTreeSet::new();
        for Agent { name, .. } in &self.agents {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(HostError::Name(name.clone()));
            }
            if !names.insert(name) {
                return Err(HostError::Twice(name.clone()));
            }
        }
        Ok(())
    }
}
