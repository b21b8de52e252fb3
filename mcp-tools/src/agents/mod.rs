//! A2A agents on the web, as the tools that find and call them see them.
//!
//! - [`Agents`]: finds agents, remembers them for a while, and calls their skills
//! - [`AgentsSettings`]: what the operator allows, and with which credentials
//! - [`StandIn`]: a site that is reached somewhere else

mod credential;
mod settings;
mod stand_in;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bridge_client::{
    CredentialError, Options,
    discovery::{Discovered, DiscoveryError, DiscoveryOptions, discover},
    invocation::{Invocation, InvocationError, Outcome, invoke},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use url::Url;

use crate::connection::{masked_of, searched};

pub use credential::{Credential, CredentialFlagError};
pub use settings::AgentsSettings;
pub use stand_in::{StandIn, StandInError};

/// How many agents are remembered.
const MOST: usize = 64;

/// Agents on the web. What was found is used again for as long as the settings say.
#[derive(Debug)]
pub struct Agents {
    settings: AgentsSettings,
    found: Mutex<BTreeMap<Url, (Timestamp, Discovered)>>,
}

/// Why an agent could not be called.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It was not found.
    #[error(transparent)]
    Discovery(Box<DiscoveryError>),
    /// The call came to nothing.
    #[error(transparent)]
    Invocation(Box<InvocationError>),
    /// The operator's secret for this host cannot be sent.
    #[error("the credential for {host} cannot be sent: {source}")]
    Credential {
        /// The host.
        host: String,
        /// What is wrong with it, without the secret.
        #[source]
        source: CredentialError,
    },
}

impl CallError {
    /// Whether the agent was found and asks for a credential that was not given, or does not accept the one that was.
    pub fn wants_credentials(&self) -> bool {
        match self {
            Self::Invocation(error) => error.wants_credentials(),
            Self::Discovery(_) | Self::Credential { .. } => false,
        }
    }
}

impl From<DiscoveryError> for CallError {
    fn from(error: DiscoveryError) -> Self {
        Self::Discovery(Box::new(error))
    }
}

impl From<InvocationError> for CallError {
    fn from(error: InvocationError) -> Self {
        Self::Invocation(Box::new(error))
    }
}

impl Agents {
    /// Agents that are looked for and called in this way.
    pub fn new(settings: AgentsSettings) -> Self {
        let found = Mutex::default();
        Self { settings, found }
    }

    /// Looks for the agent of a site, whether it was found before or not.
    ///
    /// # Errors
    /// [`CallError::Discovery`], and [`CallError::Credential`]
    pub async fn look_for(&self, site: &Url, now: Timestamp) -> Result<Discovered, CallError> {
        let target = self.settings.real(site);
        let found = discover(&target, &self.discovery(&target)?).await?;
        let found = self.reachable(found);
        self.remember(site, &found, now);
        Ok(found)
    }

    /// Calls a skill of the agent at this address. The card that was found last says how.
    ///
    /// # Errors
    /// [`CallError`]. A task that failed is an [`Outcome`].
    pub async fn call(
        &self,
        base: &Url,
        invocation: &Invocation,
        now: Timestamp,
    ) -> Result<Outcome, CallError> {
        let agent = match self.recall(base, now) {
            Some(agent) => agent,
            None => self.look_for(base, now).await?,
        };
        let options = Options {
            lookup: self.settings.discovery.lookup.clone(),
            credentials: self.settings.credentials(agent.reach.url())?,
            limits: self.settings.limits,
            ..Options::default()
        };
        Ok(invoke(&agent, invocation, &options).await?)
    }

    /// The address at which others know the agent: that of the site for which somebody stands in.
    pub fn shown(&self, url: &Url) -> Url {
        self.settings.apparent(url)
    }

    /// What an agent said, without the operator's secrets: it was shown one and may repeat it.
    pub fn masked(&self, said: &Value) -> Value {
        let secrets = self.settings.credentials.iter().map(Credential::secret);
        masked_of(said, &searched(secrets))
    }

    fn discovery(&self, target: &Url) -> Result<DiscoveryOptions, CallError> {
        Ok(DiscoveryOptions {
            credentials: self.settings.credentials(target)?,
            allow_private: self.settings.may_be_private(target),
            ..self.settings.discovery.clone()
        })
    }

    /// An agent whose card names an address where somebody stands in for it.
    fn reachable(&self, mut agent: Discovered) -> Discovered {
        for interface in &mut agent.card.supported_interfaces {
            if let Ok(url) = Url::parse(&interface.url) {
                let real = self.settings.real(&url);
                if real != url {
                    interface.url = real.into();
                }
            }
        }
        for way in std::iter::once(&mut agent.reach).chain(&mut agent.others) {
            *way.url_mut() = self.settings.real(way.url());
        }
        agent.allow_private |= self.settings.may_be_private(agent.reach.url());
        agent
    }

    /// Under the address of the site, and under that to which its messages go.
    fn remember(&self, site: &Url, agent: &Discovered, now: Timestamp) {
        let mut found = self.lock();
        let kept = self.settings.remember;
        found.retain(|_, (at, _)| is_fresh(*at, now, kept));
        for url in [site.clone(), self.shown(agent.reach.url())] {
            if found.len() < MOST {
                found.insert(url, (now, agent.clone()));
            }
        }
    }

    fn recall(&self, url: &Url, now: Timestamp) -> Option<Discovered> {
        let found = self.lock();
        let (at, agent) = found.get(url)?;
        is_fresh(*at, now, self.settings.remember).then(|| agent.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Url, (Timestamp, Discovered)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_fresh(at: Timestamp, now: Timestamp, kept: SignedDuration) -> bool {
    now.duration_since(at) < kept
}
