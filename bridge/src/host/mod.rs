//! Where everything is put together: agents, store, turns, service and server become one [`Router`].
//!
//! A library user mounts the router in an axum app of their own, with their own authentication in front
//! of it giving an [`axum::Extension`] with the [`Caller`](crate::caller::Caller); the `bridge` program
//! serves it as it is.
//!
//! - [`Host`]: what is hosted
//! - [`Hosted`]: the same while it is served, to be replaced
//! - [`Front`]: what stands before it: web pages of others, and proxies

mod front;
mod hosted;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::Router;

pub use front::Front;
pub use hosted::Hosted;

use crate::{
    agent::Agent,
    auth::{self, Issuer},
    bot::remote::Channel,
    connector,
    server::{Endpoint, catalogue, health, openapi, router},
    service::{Service, Settings},
    store::Store,
    turns::{TurnError, Turns},
};

/// Where the cards of all agents are.
const CATALOGUE: &str = "/a2a/catalog";

/// What is at `/a2a` beside the agents: operations of the first one, and the catalogue.
const RESERVED: [&str; 4] = ["v1", "tasks", "extendedAgentCard", "catalog"];

/// Agents that are hosted together.
#[derive(Debug)]
pub struct Host {
    agents: Vec<Agent>,
    store: Arc<dyn Store>,
    settings: Settings,
    paths: BTreeMap<String, String>,
    extras: Extras,
}

/// What is served beside the agents.
#[derive(Clone, Debug, Default)]
struct Extras {
    channel: Option<Channel>,
    issuer: Option<Arc<Issuer>>,
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
    /// Two agents would have the same address.
    #[error("two agents are served at {0:?}: give each a path of its own")]
    SamePath(String),
    /// A name that cannot stand in a path.
    #[error("{0:?} is no name for an agent: use letters, digits, - and _")]
    Name(String),
    /// At the path that the name would have is something else.
    #[error("{0:?} is no name for an agent: something else is at /a2a/{0}")]
    Reserved(String),
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
            paths: BTreeMap::new(),
            extras: Extras::default(),
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
        self.extras.channel = Some(channel);
        self
    }

    /// With what everybody may read of this issuer.
    #[must_use]
    pub fn issuer(mut self, issuer: Arc<Issuer>) -> Self {
        self.extras.issuer = Some(issuer);
        self
    }

    /// Serves an agent at this path, such as `/agents/one`, in place of `/a2a/NAME`.
    #[must_use]
    pub fn path(mut self, agent: impl Into<String>, path: impl Into<String>) -> Self {
        self.paths.insert(agent.into(), path.into());
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
        Ok(self.start(public_url).await?.current())
    }

    /// The same, for agents that will be replaced by others.
    ///
    /// # Errors
    /// As [`router`](Self::router).
    pub async fn start(self, public_url: &str) -> Result<Hosted, HostError> {
        let seats = seats(&self.agents, &self.paths)?;
        let turns = Turns::new(self.store, self.agents);
        let taken_up = turns.recover().await.map_err(HostError::Recover)?;
        tracing::info!(taken_up, "open tasks were taken up");
        turns.keep_expiring();
        let service = Service::new(turns, self.settings);
        let public_url = public_url.trim_end_matches('/').to_owned();
        Ok(Hosted::new(service, public_url, self.extras, &seats))
    }
}

/// An agent and the path of its own.
struct Seat {
    agent: String,
    path: String,
}

/// Where each agent is served.
fn seats(agents: &[Agent], paths: &BTreeMap<String, String>) -> Result<Vec<Seat>, HostError> {
    if agents.is_empty() {
        return Err(HostError::NoAgent);
    }
    let (mut names, mut taken) = (BTreeSet::new(), BTreeSet::from(["/a2a".to_owned()]));
    let mut seats = Vec::new();
    for Agent { name, .. } in agents {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(HostError::Name(name.clone()));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(HostError::Reserved(name.clone()));
        }
        if !names.insert(name) {
            return Err(HostError::Twice(name.clone()));
        }
        let path = paths
            .get(name)
            .cloned()
            .unwrap_or_else(|| format!("/a2a/{name}"));
        if !taken.insert(path.clone()) {
            return Err(HostError::SamePath(path));
        }
        seats.push(Seat {
            agent: name.clone(),
            path,
        });
    }
    Ok(seats)
}

/// The routes of all agents, and what is beside them.
fn routes(service: &Service, public_url: &str, extras: &Extras, seats: &[Seat]) -> Router {
    let mut app = health(service.clone());
    if let Some(channel) = &extras.channel {
        app = app.merge(connector::router(channel.clone()));
    }
    if let Some(issuer) = &extras.issuer {
        app = app.merge(auth::router(issuer.clone()));
    }
    let mut all = Vec::new();
    for (index, seat) in seats.iter().enumerate() {
        let own = seat.path.as_str();
        let (home, others) = match index {
            0 if own.starts_with("/a2a/") => ("/a2a", vec!["", own, "/a2a"]),
            0 => (own, vec!["", own, "/a2a"]),
            _ => (own, vec![own]),
        };
        let endpoint = Endpoint {
            service: service.clone(),
            agent: seat.agent.clone(),
            public_url: public_url.to_owned(),
            home: home.to_owned(),
            own: own.to_owned(),
        };
        for path in others {
            app = app.merge(router(path, endpoint.clone()));
        }
        all.push(endpoint);
    }
    app.merge(openapi(all.clone()))
        .merge(catalogue(CATALOGUE, all))
}
