//! Combines agents, store, turns, service and server into one [`Router`].
//!
//! A library user mounts the router in an axum app, with authentication in front of it that adds an [`axum::Extension`]
//! with the [`Caller`](crate::caller::Caller). The `bridge` program serves the router unchanged.
//!
//! - [`Host`]: the agents and settings
//! - [`HostedAgents`]: a running host whose agents can be replaced
//! - [`HttpGuard`]: checks of web pages, host names and proxies
//! - [`Grpc`]: the settings of gRPC
//! - [`check_path`], [`is_own_name`]: the paths at which agents can be served

mod admin;
mod admin_error;
mod admin_store;
mod agent_routes;
mod bot_guesses;
mod hosted_agents;
mod http_guard;
mod origin_check;
mod routes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::Router;
use bridge_protocol::a2a::AgentCard;
use tokio::sync::watch;
use url::Url;

pub use crate::server::{Grpc, GrpcAddress};
pub use agent_routes::{check_path, is_own_name};
pub use hosted_agents::HostedAgents;
pub use http_guard::HttpGuard;

use crate::{
    access::Access,
    agent::Agent,
    auth::{CardSigner, Issuer},
    bot::remote::Channel,
    push::{Push, PushError, PushSettings},
    quota::QuotaSettings,
    retention::RetentionSettings,
    service::{Service, Settings},
    store::Store,
    turns::{TurnError, TurnLimits, Turns},
};

/// Agents that are hosted together.
#[derive(Debug)]
pub struct Host {
    agents: Vec<Agent>,
    store: Arc<dyn Store>,
    settings: Settings,
    paths: BTreeMap<String, String>,
    accesses: BTreeMap<String, Access>,
    extended: BTreeMap<String, AgentCard>,
    flat_results: BTreeSet<String>,
    turns: BTreeMap<String, String>,
    options: HostOptions,
    push: Option<PushSettings>,
    retention: RetentionSettings,
    signs: bool,
}

/// The settings beside the agents.
#[derive(Clone, Debug, Default)]
struct HostOptions {
    channel: Option<Channel>,
    issuer: Option<Arc<Issuer>>,
    signer: Option<Arc<CardSigner>>,
    grpc: Grpc,
    body_limit: Option<usize>,
    turn_limits: TurnLimits,
    stopping: Option<watch::Receiver<bool>>,
}

/// The reason why agents cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum HostError {
    /// There are no agents.
    #[error("there is no agent to host: name at least one")]
    NoAgent,
    /// Two agents have the same name.
    #[error("two agents have the name {0:?}: give each its own name")]
    Twice(String),
    /// Two agents have the same path.
    #[error("two agents have the path {0:?}: give each its own path")]
    SamePath(String),
    /// The name cannot be used in a path.
    #[error("{0:?} is no name for an agent: use letters, digits, - and _")]
    Name(String),
    /// Push notifications cannot be delivered.
    #[error("push notifications cannot be delivered: {0}")]
    Push(PushError),
    /// The path for the name is reserved.
    #[error("{0:?} is no name for an agent: something else is at /a2a/{0}")]
    Reserved(String),
    /// A setting is for an agent that is not hosted.
    #[error("{setting} is set for {agent:?}, but no agent has this name")]
    NoSuchAgent {
        agent: String,
        /// The function of [`Host`] that sets it.
        setting: &'static str,
    },
    /// The agent cannot be served at its path.
    #[error("the path of {agent:?}: {reason}")]
    Path { agent: String, reason: String },
    /// The URL for clients is not valid.
    #[error("expected a URL for clients such as http://localhost:3978, found {0:?}")]
    PublicUrl(String),
    /// Push notifications should be signed, but there is no issuer.
    #[error("signed push notifications need an issuer: set one")]
    NoIssuer,
    /// Open tasks cannot be resumed.
    #[error("open tasks cannot be recovered: {0}")]
    Recover(TurnError),
}

impl Host {
    /// Creates a host of these agents with their tasks in this store; the first agent is also served at `/a2a` and `/`.
    pub fn new(store: Arc<dyn Store>, agents: impl IntoIterator<Item = Agent>) -> Self {
        Self {
            agents: agents.into_iter().collect(),
            store,
            settings: Settings::default(),
            paths: BTreeMap::new(),
            accesses: BTreeMap::new(),
            extended: BTreeMap::new(),
            flat_results: BTreeSet::new(),
            turns: BTreeMap::new(),
            options: HostOptions::default(),
            push: Some(PushSettings::default()),
            retention: RetentionSettings::default(),
            signs: false,
        }
    }

    /// Adds the routes that the bots of this channel call.
    ///
    /// ```
    /// use bridge_bots::bot::remote::{Channel, ChannelSettings, RemoteBot};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = std::sync::Arc::new(bridge_store::MemoryStore::new());
    /// let here = "http://127.0.0.1:3978".parse()?;
    /// let channel = Channel::new(store.clone(), ChannelSettings::at(here))?;
    /// let bot = RemoteBot::new("assistant", "http://127.0.0.1:3979/api/messages".parse()?);
    /// let host = bridge_server::host::Host::new(store, [channel.agent(bot)]).connector(channel);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn connector(mut self, channel: Channel) -> Self {
        self.options.channel = Some(channel);
        self
    }

    /// Adds the published documents of this issuer.
    #[must_use]
    pub fn issuer(mut self, issuer: Arc<Issuer>) -> Self {
        self.options.issuer = Some(issuer);
        self
    }

    /// Signs the cards of all agents, and publishes the key.
    #[must_use]
    pub fn signer(mut self, signer: Arc<CardSigner>) -> Self {
        self.options.signer = Some(signer);
        self
    }

    /// Sets the place where gRPC is served.
    #[must_use]
    pub fn grpc(mut self, grpc: Grpc) -> Self {
        self.options.grpc = grpc;
        self
    }

    /// Sets the size limit of request bodies, in place of [`BODY_LIMIT`](crate::server::BODY_LIMIT).
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.options.body_limit = Some(bytes);
        self
    }

    /// Sets the limits of turns.
    #[must_use]
    pub fn turn_limits(mut self, limits: TurnLimits) -> Self {
        self.options.turn_limits = limits;
        self
    }

    /// Reports to health checks that the service is not ready once `stopping` becomes true, such as a
    /// [`stop_signal`](bridge_program::stop_signal()), and ends health watches over gRPC, which would delay the stop.
    #[must_use]
    pub fn stopping(mut self, stopping: watch::Receiver<bool>) -> Self {
        self.options.stopping = Some(stopping);
        self
    }

    /// Sets the settings of push notifications, or disables them.
    #[must_use]
    pub fn push(mut self, settings: Option<PushSettings>) -> Self {
        self.push = settings;
        self
    }

    /// Sets the rules for deleting ended tasks.
    #[must_use]
    pub fn retention(mut self, retention: RetentionSettings) -> Self {
        self.retention = retention;
        self
    }

    /// Has the issuer sign push notifications, see [`Signature`](crate::push::Signature). Requires
    /// [`issuer`](Self::issuer).
    #[must_use]
    pub fn signed_push(mut self) -> Self {
        self.signs = true;
        self
    }

    /// Serves an agent at this path, such as `/agents/one`, in place of `/a2a/NAME`; see [`check_path`].
    #[must_use]
    pub fn path(mut self, agent: impl Into<String>, path: impl Into<String>) -> Self {
        self.paths.insert(agent.into(), path.into());
        self
    }

    /// Enforces the authentication that this agent's card declares. Without it all callers are admitted,
    /// unless the app has its own authentication in front of the router.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use bridge_auth::Secret;
    /// use bridge_protocol::{a2a::AgentCard, wire::Wire as _};
    /// use bridge_server::access::{Access, Check, Secrets};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let card = AgentCard::read(serde_json::json!({
    ///     "name": "Echo",
    ///     "supportedInterfaces": [],
    ///     "securitySchemes": {
    ///         "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
    ///     },
    ///     "securityRequirements": [{"schemes": {"key": {"list": []}}}],
    /// }))?;
    /// let check = Check {
    ///     secrets: Secrets::default().with("alice", &Secret::new("hunter2"))?,
    ///     ..Check::default()
    /// };
    /// let access = Access::new(&card, "echo", BTreeMap::from([("key".to_owned(), check)]))?;
    /// assert_eq!(access.summary(), "callers need key (one of 1 secrets)");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn access(mut self, agent: impl Into<String>, access: Access) -> Self {
        self.accesses.insert(agent.into(), access);
        self
    }

    /// Answers `message/send` of 0.3 in the form of the simplest agents: `{"task": {"state": ..}}` in place
    /// of a task with a status. Other versions are not affected.
    #[must_use]
    pub fn flat_results(mut self, agent: impl Into<String>) -> Self {
        self.flat_results.insert(agent.into());
        self
    }

    /// Sets the text in `/docs` about the meaning of the end of this agent's turns.
    #[must_use]
    pub fn turns(mut self, agent: impl Into<String>, words: impl Into<String>) -> Self {
        self.turns.insert(agent.into(), words.into());
        self
    }

    /// Sets the card for authenticated callers (specification 13.3). The requirements of its skills are
    /// enforced if [`Access::extended`] was called for the agent.
    #[must_use]
    pub fn extended_card(mut self, agent: impl Into<String>, card: AgentCard) -> Self {
        self.extended.insert(agent.into(), card);
        self
    }

    /// Sets the limits of each caller.
    #[must_use]
    pub fn quota(mut self, quota: QuotaSettings) -> Self {
        self.settings.quota = quota;
        self
    }

    /// Sets the other settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Resumes open tasks and returns the routes of all agents. `public_url` is the URL of the router for
    /// clients, such as `http://localhost:3978`.
    ///
    /// # Errors
    /// Returns an error if a name is missing, invalid or occurs twice, a setting names no agent, a path or the URL cannot
    /// be used, or the store cannot be read.
    pub async fn router(self, public_url: &str) -> Result<Router, HostError> {
        Ok(self.start(public_url).await?.current())
    }

    /// Does the same for agents that can be replaced later.
    ///
    /// # Errors
    /// The errors are those of [`router`](Self::router).
    pub async fn start(self, public_url: &str) -> Result<HostedAgents, HostError> {
        let agent_routes = self.agent_routes()?;
        let public_url = checked_url(public_url)?;
        if self.signs && self.push.is_some() && self.options.issuer.is_none() {
            return Err(HostError::NoIssuer);
        }
        let turns = Turns::with_limits(self.options.turn_limits, self.store, self.agents);
        let taken_up = turns.recover().await.map_err(HostError::Recover)?;
        tracing::info!(taken_up, "open tasks were recovered");
        turns.start_expiry();
        let service = Service::new(turns, self.settings);
        service.extend_cards(self.extended);
        let service = match self.push {
            Some(settings) => {
                let issuer = self.options.issuer.clone().filter(|_| self.signs);
                with_push(service, settings, issuer).await?
            }
            None => service,
        };
        let service = service.with_deletion(self.retention);
        Ok(HostedAgents::new(service, public_url, self.options, &agent_routes))
    }
}

/// Returns the URL for clients without a slash at its end.
fn checked_url(text: &str) -> Result<String, HostError> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match Url::parse(text).ok().filter(is_web) {
        Some(_) => Ok(text.trim_end_matches('/').to_owned()),
        None => Err(HostError::PublicUrl(text.to_owned())),
    }
}

/// Adds push notifications, which continue where they stopped.
async fn with_push(
    service: Service,
    settings: PushSettings,
    issuer: Option<Arc<Issuer>>,
) -> Result<Service, HostError> {
    let turns = service.turns();
    let (store, metrics) = (turns.store().clone(), turns.metrics().clone());
    let push = Push::new(store, metrics, settings, issuer).map_err(HostError::Push)?;
    let open = push.resume().await.map_err(|error| HostError::Push(error.into()))?;
    tracing::info!(open, "push notifications were resumed");
    Ok(service.with_push(push))
}
