//! Finds agents in a registry, and combines that with the agents at known addresses.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_client::registry::{Registry, RegistryAuth, RegistryError, RegistryOptions};
use url::Url;

use super::{
    address_directory::AddressDirectory,
    agent_directory::{AgentDirectory, SkillAgent},
    call_context::CallContext,
    error::AttemptError,
};

/// Returns a client for the registry at this address. It asks the registry before every step, so that a newer
/// card is found at once. Cards are cached by digest: they are not pulled again, and are used while the
/// registry cannot be reached.
pub(super) fn registry(url: &Url, auth: RegistryAuth) -> Result<Registry, AttemptError> {
    let options = RegistryOptions { auth, fresh: Duration::ZERO, ..RegistryOptions::default() };
    Registry::new(url, options).map_err(fault)
}

/// All directories in which agents are found.
pub(super) struct CombinedDirectory {
    /// The agents at known addresses, which are preferred.
    pub(super) address_directory: AddressDirectory,
    pub(super) registry: Option<Arc<Registry>>,
    pub(super) call_context: CallContext,
}

#[async_trait]
impl AgentDirectory for CombinedDirectory {
    async fn find(&self, skill: &str, anew: bool) -> Result<Box<dyn SkillAgent>, AttemptError> {
        let Some(registry) = &self.registry else {
            return self.address_directory.find(skill, anew).await;
        };
        if self.address_directory.is_empty() {
            return self.registry_directory(registry, skill).await;
        }
        match self.address_directory.find(skill, anew).await {
            Ok(found) => Ok(found),
            Err(here) => {
                let there = self.registry_directory(registry, skill).await;
                there.map_err(|there| here.and(there))
            }
        }
    }
}

impl CombinedDirectory {
    /// Returns whether there is no place to search.
    pub(super) fn is_empty(&self) -> bool {
        self.address_directory.is_empty() && self.registry.is_none()
    }

    async fn registry_directory(
        &self,
        registry: &Registry,
        skill: &str,
    ) -> Result<Box<dyn SkillAgent>, AttemptError> {
        let found = registry.find(skill).await.map_err(fault)?.agent;
        let named = found.skill(skill).cloned();
        let skill = named.ok_or_else(|| {
            AttemptError::NoAgent(format!("{} has it no longer", found.card.name))
        })?;
        Ok(Box::new(self.call_context.agent(found, skill)))
    }
}

fn fault(error: RegistryError) -> AttemptError {
    match error {
        RegistryError::NoSkill { registry, looked, .. } => {
            AttemptError::NoAgent(match looked.is_empty() {
                true => format!("the registry {registry} is empty"),
                false => format!("the registry {registry} has {}", looked.join("; ")),
            })
        }
        RegistryError::NoneHealthy { tried, .. } => AttemptError::Unreachable(format!(
            "no agent with the skill answers: {}",
            tried.join("; ")
        )),
        error => AttemptError::LookupFailed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_is_gone_is_no_fault_of_the_agents() {
        let url: Url = "http://127.0.0.1:1/".parse().unwrap();
        let gone = fault(RegistryError::Unreachable {
            registry: "127.0.0.1:1".to_owned(),
            cause: "connection refused".to_owned(),
        });
        assert!(gone.is_infrastructure());
        assert!(registry(&url, RegistryAuth::Anonymous).is_ok());
        let remote = "http://registry.example/".parse().unwrap();
        let remote = registry(&remote, RegistryAuth::Anonymous).unwrap_err();
        assert!(remote.to_string().contains("use https://registry.example"));
    }

    #[test]
    fn the_searched_registries_are_reported() {
        let nobody = fault(RegistryError::NoSkill {
            registry: "h:1".to_owned(),
            skill: "x".to_owned(),
            looked: vec!["agents/plan:v1 (create_plan)".to_owned()],
        });
        let here = AttemptError::NoAgent("plan has nothing".to_owned());
        assert_eq!(
            here.and(nobody).to_string(),
            "no agent has the skill; plan has nothing; the registry h:1 has agents/plan:v1 (create_plan)"
        );
    }
}
