//! The operator's settings for agents on the web.

use bridge_client::{Credentials, Limits, discovery::DiscoveryOptions};
use jiff::SignedDuration;
use url::Url;

use super::{CallError, Credential, SiteOverride};

/// The allowed addresses, the credentials and the limits. Language models choose the addresses, so no private
/// address is allowed by default.
#[derive(Clone, Debug)]
pub struct AgentsSettings {
    /// The credentials; each is sent only to its own host.
    pub credentials: Vec<Credential>,
    /// Sites whose requests go to another address, which may be private.
    pub overrides: Vec<SiteOverride>,
    /// Whether addresses of this machine and of private networks are allowed.
    pub allow_private: bool,
    /// The options of the search for agent cards.
    pub discovery: DiscoveryOptions,
    /// The limits on the time and size of an agent's answer.
    pub limits: Limits,
    /// The time for which a card is cached.
    pub remember: SignedDuration,
}

impl Default for AgentsSettings {
    fn default() -> Self {
        Self {
            credentials: Vec::new(),
            overrides: Vec::new(),
            allow_private: false,
            discovery: DiscoveryOptions::default(),
            limits: Limits::default(),
            remember: SignedDuration::from_secs(60),
        }
    }
}

impl AgentsSettings {
    /// Returns the address that requests for this URL are sent to.
    pub(super) fn actual_url(&self, url: &Url) -> Url {
        self.overrides.iter().find_map(|one| one.actual_url(url)).unwrap_or_else(|| url.clone())
    }

    /// Returns the public URL of an address that requests are sent to.
    pub(super) fn public_url(&self, url: &Url) -> Url {
        self.overrides.iter().find_map(|one| one.public_url(url)).unwrap_or_else(|| url.clone())
    }

    /// Returns whether a target may resolve to a private address: private addresses are allowed, or the operator
    /// configured this target.
    pub(super) fn may_be_private(&self, target: &Url) -> bool {
        self.allow_private || self.overrides.iter().any(|one| one.public_url(target).is_some())
    }

    /// Returns the credentials for this address. Credentials of a site also apply to the address that its override
    /// names.
    pub(super) fn credentials(&self, url: &Url) -> Result<Credentials, CallError> {
        let public_url = self.public_url(url);
        let own = self.credentials.iter().filter(|one| one.is_for(url) || one.is_for(&public_url));
        own.into_iter().try_fold(Credentials::default(), |all, one| {
            one.add_to(all).map_err(|error| CallError::Credential { host: one.host.clone(), error })
        })
    }
}
