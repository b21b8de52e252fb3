//! What the operator of the tools decides about agents.

use bridge_client::{Credentials, Limits, discovery::DiscoveryOptions};
use jiff::SignedDuration;
use url::Url;

use super::{CallError, Credential, StandIn};

/// What may be reached, with which credentials, and within which limits. Models name the addresses, so
/// nothing private is reached unless this says so.
#[derive(Clone, Debug)]
pub struct AgentsSettings {
    /// What hosts are shown, each only its own.
    pub credentials: Vec<Credential>,
    /// Sites that are reached somewhere else; where that is may be private.
    pub stand_ins: Vec<StandIn>,
    /// Whether this machine and private networks may be reached by their own addresses.
    pub allow_private: bool,
    /// How cards are looked for.
    pub discovery: DiscoveryOptions,
    /// How long an agent's answer may take, and how large it may be.
    pub limits: Limits,
    /// How long a card is used without being fetched again.
    pub remember: SignedDuration,
}

impl Default for AgentsSettings {
    fn default() -> Self {
        Self {
            credentials: Vec::new(),
            stand_ins: Vec::new(),
            allow_private: false,
            discovery: DiscoveryOptions::default(),
            limits: Limits::default(),
            remember: SignedDuration::from_secs(60),
        }
    }
}

impl AgentsSettings {
    /// Where a site is really reached.
    pub(super) fn real(&self, url: &Url) -> Url {
        let mut stand_ins = self.stand_ins.iter();
        let real = stand_ins.find_map(|stand_in| stand_in.real(url));
        real.unwrap_or_else(|| url.clone())
    }

    /// Which site it is that is reached there.
    pub(super) fn apparent(&self, url: &Url) -> Url {
        let mut stand_ins = self.stand_ins.iter();
        let apparent = stand_ins.find_map(|stand_in| stand_in.apparent(url));
        apparent.unwrap_or_else(|| url.clone())
    }

    /// Whether a target may turn out to be private: it may be, or the operator named it.
    pub(super) fn may_be_private(&self, target: &Url) -> bool {
        let mut stand_ins = self.stand_ins.iter();
        self.allow_private || stand_ins.any(|stand_in| stand_in.apparent(target).is_some())
    }

    /// What the host of this address is shown. A site's credentials are those of its stand-in too.
    pub(super) fn credentials(&self, url: &Url) -> Result<Credentials, CallError> {
        let apparent = self.apparent(url);
        let own = self
            .credentials
            .iter()
            .filter(|one| one.is_for(url) || one.is_for(&apparent));
        own.into_iter()
            .try_fold(Credentials::default(), |all, one| {
                one.add_to(all).map_err(|source| CallError::Credential {
                    host: one.host().to_owned(),
                    source,
                })
            })
    }
}
