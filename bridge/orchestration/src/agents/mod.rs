//! A2A agents on the web, for the tools that find and call them.
//!
//! - [`Agents`]: finds agents, caches their cards, and calls their skills
//! - [`AgentsSettings`]: the addresses that the operator allows, and the credentials
//! - [`SiteOverride`]: a site whose requests go to another address

mod credential;
mod settings;
mod site_override;

use std::{collections::BTreeMap, sync::Mutex};

use bridge_client::{
    CredentialError, Options,
    discovery::{Discovered, DiscoveryError, DiscoveryOptions, discover},
    invocation::{Invocation, InvocationError, Outcome, invoke},
};
use bridge_program::lock;
use jiff::{SignedDuration, Timestamp};
use url::Url;

pub use credential::{Credential, CredentialFlagError};
pub use settings::AgentsSettings;
pub use site_override::{SiteOverride, SiteOverrideError};

/// The largest number of cached agents.
const MAX_AGENTS: usize = 64;

/// Finds and calls agents on the web. A card that was found is cached for the time in the settings.
#[derive(Debug)]
pub struct Agents {
    settings: AgentsSettings,
    found: Mutex<BTreeMap<Url, (Timestamp, Discovered)>>,
}

/// The reason why an agent could not be called.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CallError {
    /// The agent was not found.
    #[error(transparent)]
    Discovery(Box<DiscoveryError>),
    /// The call failed.
    #[error(transparent)]
    Invocation(Box<InvocationError>),
    /// The operator's secret for this host cannot be sent.
    #[error("the credential for {host} cannot be sent: {error}")]
    Credential {
        host: String,
        /// The cause, without the secret.
        error: CredentialError,
    },
}

impl CallError {
    /// Returns whether the agent was found but asks for a credential that was not given, or rejects the given one.
    pub fn wants_credentials(&self) -> bool {
        matches!(self, Self::Invocation(error) if error.wants_credentials())
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
    /// Creates a client with these settings and an empty cache.
    pub fn new(settings: AgentsSettings) -> Self {
        let found = Mutex::default();
        Self { settings, found }
    }

    /// Fetches the card of a site's agent, even if it is cached.
    ///
    /// # Errors
    /// [`CallError::Discovery`] and [`CallError::Credential`]
    pub async fn look_for(&self, site: &Url, now: Timestamp) -> Result<Discovered, CallError> {
        let target = self.settings.actual_url(site);
        let options = DiscoveryOptions {
            credentials: self.settings.credentials(&target)?,
            allow_private: self.settings.may_be_private(&target),
            ..self.settings.discovery.clone()
        };
        let found = self.reachable(discover(&target, &options).await?);
        self.remember(site, &found, now);
        Ok(found)
    }

    /// Calls a skill of the agent at this address, in the way that the agent's cached or newly fetched card
    /// describes.
    ///
    /// # Errors
    /// [`CallError`]. A failed task is not an error but an [`Outcome`].
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
            credentials: self.settings.credentials(agent.endpoint.url())?,
            limits: self.settings.limits,
            ..Options::default()
        };
        Ok(invoke(&agent, invocation, &options).await?)
    }

    /// Returns the public address of an agent: for a site with an override, the address of the site.
    pub fn shown(&self, url: &Url) -> Url {
        self.settings.public_url(url)
    }

    /// Returns the operator's secrets. An agent was sent one and may repeat it, so its output is masked before it is
    /// shown.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.settings.credentials.iter().map(|one| one.secret.expose())
    }

    /// Replaces the address in the agent's card by the address in the operator's overrides.
    fn reachable(&self, mut agent: Discovered) -> Discovered {
        for interface in &mut agent.card.supported_interfaces {
            if let Ok(url) = Url::parse(&interface.url) {
                let actual_url = self.settings.actual_url(&url);
                if actual_url != url {
                    interface.url = actual_url.into();
                }
            }
        }
        for way in std::iter::once(&mut agent.endpoint).chain(&mut agent.others) {
            *way.url_mut() = self.settings.actual_url(way.url());
        }
        agent.allow_private |= self.settings.may_be_private(agent.endpoint.url());
        agent
    }

    /// Caches the agent under the address of the site, and under the address that its messages are sent to. A card names any
    /// address as its agent's: it does not replace the card that is on the server of that address.
    fn remember(&self, site: &Url, agent: &Discovered, now: Timestamp) {
        let mut found = lock(&self.found);
        let kept = self.settings.remember;
        found.retain(|_, (at, _)| is_fresh(*at, now, kept));
        for url in [site.clone(), self.shown(agent.endpoint.url())] {
            let is_own = |agent: &Discovered| self.shown(&agent.found_at).origin() == url.origin();
            let may_be_cached = match found.get(&url) {
                Some((_, known)) => is_own(agent) || !is_own(known),
                None => found.len() < MAX_AGENTS,
            };
            if may_be_cached {
                found.insert(url, (now, agent.clone()));
            }
        }
    }

    fn recall(&self, url: &Url, now: Timestamp) -> Option<Discovered> {
        let found = lock(&self.found);
        let (at, agent) = found.get(url)?;
        is_fresh(*at, now, self.settings.remember).then(|| agent.clone())
    }
}

fn is_fresh(at: Timestamp, now: Timestamp, kept: SignedDuration) -> bool {
    now.duration_since(at) < kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_card_replaces_the_cached_one_in_a_full_cache() {
        let agents = Agents::new(AgentsSettings::default());
        let now = Timestamp::UNIX_EPOCH;
        let site = |number: usize| Url::parse(&format!("https://{number}.example/")).unwrap();
        let remember = |name: &str, site: Url| {
            let card = json!({"name": name, "url": site.as_str()});
            let agent = Discovered::from_card(card, site.clone()).unwrap();
            agents.remember(&site, &agent, now);
        };
        (1..=MAX_AGENTS + 1).for_each(|number| remember("old", site(number)));
        remember("new", site(1));
        let named = |number| agents.recall(&site(number), now).map(|agent| agent.card.name);
        assert_eq!(named(1).as_deref(), Some("new"));
        assert_eq!(named(2).as_deref(), Some("old"));
        assert_eq!(named(MAX_AGENTS + 1), None);
    }

    #[test]
    fn a_card_of_another_site_does_not_replace_the_agents_own() {
        let agents = Agents::new(AgentsSettings::default());
        let now = Timestamp::UNIX_EPOCH;
        let tasks = Url::parse("https://club.example/a2a").unwrap();
        let remember = |site: &str| {
            let site = Url::parse(site).unwrap();
            let card = json!({"name": site.as_str(), "url": tasks.as_str()});
            agents.remember(&site, &Discovered::from_card(card, site.clone()).unwrap(), now);
            agents.recall(&tasks, now).unwrap().card.name
        };
        assert_eq!(remember("https://directory.example/"), "https://directory.example/");
        assert_eq!(remember("https://club.example/"), "https://club.example/");
        assert_eq!(remember("https://directory.example/"), "https://club.example/");
    }
}
