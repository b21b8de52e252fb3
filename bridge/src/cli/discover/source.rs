//! Finds agents by the kind of address: an agent, a site, a catalogue, a registry.

use bridge_client::{
    discovery::{Discovered, DiscoveryError, discover_all},
    registry::listed,
};
use bridge_program::Exit;
use url::{Position, Url};

use super::{Discover, Listed, Result};
use crate::cli::{address, exit_code::failure, registry};

/// The beginning of a registry's address.
const REGISTRY: &str = "oci://";

impl Discover {
    /// Refuses options that this kind of address does not use.
    fn check_options(&self) -> Result<(), &'static str> {
        match self.target.starts_with(REGISTRY) {
            true if !self.shown.is_empty() => Err(
                "--bearer-env and --header-env are for agents: for a registry, use --registry-user NAME and --registry-password-env NAME",
            ),
            true if self.follow => {
                Err("--follow is for agents: redirects of a registry are followed anyway")
            }
            false if !self.login.is_empty() => {
                Err("--registry-user is for a registry, such as oci://localhost:5000")
            }
            true | false => Ok(()),
        }
    }

    /// Finds the agents, or those with the requested skill.
    pub(super) async fn find(&self) -> Result<Vec<Listed>> {
        self.check_options().map_err(failure(Exit::Usage))?;
        if let Some(host) = self.target.strip_prefix(REGISTRY) {
            let registry = self.login.open(host, self.trust.tls()?)?;
            return registry::agents(&registry, self.skill.as_deref()).await;
        }
        let target = address::parse(&self.target)
            .map_err(|why| format!("{why}; registries are such as oci://localhost:5000"))?;
        let found = match discover_all(&target, &self.options()?).await {
            Ok(found) => found,
            Err(error) => return Err(NotDiscovered::of(error, &target).into()),
        };
        self.with_skill(found)
    }

    /// Returns the agents with the requested skill, or all.
    fn with_skill(&self, found: Vec<Discovered>) -> Result<Vec<Listed>> {
        let looked: Vec<String> = found.iter().map(described).collect();
        let has =
            |agent: &Discovered, skill: &String| agent.skills.iter().any(|one| one.id == *skill);
        let found = found
            .into_iter()
            .filter(|agent| self.skill.as_ref().is_none_or(|skill| has(agent, skill)))
            .map(|agent| Listed { agent, card: None });
        let found: Vec<_> = found.collect();
        match &self.skill {
            Some(skill) if found.is_empty() => Err(format!(
                "no agent at {} has the skill {skill:?}: looked at {}",
                self.target,
                listed(&looked)
            )
            .into()),
            _ => Ok(found),
        }
    }
}

/// An error of discovery, with advice on what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{error}{advice}")]
pub(in crate::cli) struct NotDiscovered {
    pub(in crate::cli) error: DiscoveryError,
    advice: String,
}

impl NotDiscovered {
    fn of(error: DiscoveryError, target: &Url) -> Self {
        let host = &target[Position::BeforeHost..Position::AfterPort];
        let advice = match &error {
            DiscoveryError::NotFound { .. } => format!(
                "\nif the agent has its own path, add the path; if it is a registry, use oci://{host}"
            ),
            DiscoveryError::Unreachable { .. } => {
                "\nis it running, and is the port right?".to_owned()
            }
            DiscoveryError::Timeout { .. } => "\n--timeout SECONDS waits longer".to_owned(),
            DiscoveryError::Elsewhere { .. } => "\n--follow follows it".to_owned(),
            DiscoveryError::Status {
                status: 401 | 403, ..
            } => "\n--bearer-env NAME or --header-env HEADER=NAME sends it a secret, --cert FILE --key FILE a certificate".to_owned(),
            _ => String::new(),
        };
        Self { error, advice }
    }
}

fn described(agent: &Discovered) -> String {
    let skills: Vec<&str> = agent.skills.iter().map(|skill| skill.id.as_str()).collect();
    format!("{} ({})", agent.card.name, skills.join(", "))
}
