//! Finds agents by skill: at known addresses, those of participants and others, and in a registry.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use bridge_client::{
    discovery::{Discovered, DiscoveryError, DiscoveryOptions, discover, discover_all},
    registry::{Registry, RegistryAuth, RegistryError, RegistryOptions, listed},
};
use bridge_program::lock;
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};
use url::Url;

use super::{call_context::CallContext, error::AttemptError};

/// The most addresses that are asked for their cards at the same time.
const AT_A_TIME: usize = 8;

/// A directory in which agents are found by skill.
#[async_trait]
pub(super) trait AgentDirectory: Send + Sync {
    /// Returns the best agent for a skill. `anew` ignores earlier lookups, so that an agent that was replaced
    /// after a failure is found.
    async fn find(&self, skill: &str, anew: bool) -> Result<Box<dyn SkillAgent>, AttemptError>;
}

/// An agent that has the skill for which it was found.
#[async_trait]
pub(super) trait SkillAgent: Send + Sync {
    fn name(&self) -> &str;

    /// Calls the skill. Dropping the future cancels the call at the agent, if that supports it.
    async fn work(&self, input: &Map<String, Value>) -> Result<Value, AttemptError>;
}

/// An address at which agents are looked for.
#[derive(Clone, Debug)]
pub(super) struct ListedAddress {
    /// The name in messages: a role, or the address itself.
    pub(super) name: String,
    pub(super) url: Url,
    /// Whether to look for a catalogue of several agents too.
    pub(super) many: bool,
}

/// The agents at an address.
type Found = Vec<Arc<Discovered>>;

/// An address and the agents there, or the reason why they could not be listed.
type AddressListing<'a> = (&'a ListedAddress, Result<Found, DiscoveryError>);

/// The agents at known addresses, which are preferred, and those in a registry.
pub(super) struct Directory {
    listed: Vec<ListedAddress>,
    registry: Option<Arc<Registry>>,
    call_context: CallContext,
    /// The agents found so far, by address; dropped when a caller wants a fresh lookup.
    known: Mutex<BTreeMap<String, Found>>,
}

impl Directory {
    pub(super) fn new(
        listed: Vec<ListedAddress>,
        registry: Option<Arc<Registry>>,
        call_context: CallContext,
    ) -> Self {
        Self { listed, registry, call_context, known: Mutex::default() }
    }

    /// Returns whether there is no place to search.
    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.registry.is_none()
    }

    async fn find_listed(
        &self,
        skill: &str,
        anew: bool,
    ) -> Result<Box<dyn SkillAgent>, AttemptError> {
        let looking: Vec<_> = self.listed.iter().map(|one| self.look_at(one, anew)).collect();
        let listings: Vec<_> = stream::iter(looking).buffered(AT_A_TIME).collect().await;
        let with_skill =
            listings.iter().filter_map(|(_, found)| found.as_ref().ok()).flatten().filter_map(
                |found| Some((found, found.skills.iter().find(|one| one.id == skill)?)),
            );
        // The agent with the newest version wins; of equal versions, the first one.
        match with_skill.min_by_key(|(found, _)| Reverse(version(found))) {
            Some((found, skill)) => {
                Ok(Box::new(self.call_context.agent(found.clone(), skill.clone())))
            }
            None => Err(not_found(&listings)),
        }
    }

    async fn look_at<'a>(&self, listed: &'a ListedAddress, anew: bool) -> AddressListing<'a> {
        let known = || lock(&self.known).get(listed.url.as_str()).cloned();
        let found = match (!anew).then(known).flatten() {
            Some(found) => Ok(found),
            None => self.discover(listed).await,
        };
        (listed, found)
    }

    async fn discover(&self, listed: &ListedAddress) -> Result<Found, DiscoveryError> {
        // The addresses come from the file's author, not from a peer, so loopback addresses are allowed.
        let options = DiscoveryOptions {
            credentials: self.call_context.shown_to(&listed.url),
            connect: self.call_context.options.limits.connect,
            allow_private: true,
            ..DiscoveryOptions::default()
        };
        let found = match listed.many {
            true => discover_all(&listed.url, &options).await?,
            false => vec![discover(&listed.url, &options).await?],
        };
        let found: Found = found.into_iter().map(Arc::new).collect();
        lock(&self.known).insert(listed.url.to_string(), found.clone());
        Ok(found)
    }

    async fn find_registered(
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

#[async_trait]
impl AgentDirectory for Directory {
    async fn find(&self, skill: &str, anew: bool) -> Result<Box<dyn SkillAgent>, AttemptError> {
        let Some(registry) = &self.registry else {
            return self.find_listed(skill, anew).await;
        };
        if self.listed.is_empty() {
            return self.find_registered(registry, skill).await;
        }
        match self.find_listed(skill, anew).await {
            Ok(found) => Ok(found),
            Err(here) => {
                let there = self.find_registered(registry, skill).await;
                there.map_err(|there| here.and(there))
            }
        }
    }
}

/// Returns the version on a card. A card without a semantic version sorts before all others.
fn version(found: &Discovered) -> Option<semver::Version> {
    semver::Version::parse(&found.card.version).ok()
}

/// Returns the error for a skill that was not found: an address could not be listed, or no agent has the
/// skill.
fn not_found(listings: &[AddressListing<'_>]) -> AttemptError {
    let line = |(listed, found): &AddressListing<'_>| match found {
        Ok(found) => format!("{} has {}", listed.name, skills(found)),
        Err(error) => format!("{}: {error}", listed.name),
    };
    let lines: Vec<String> = listings.iter().map(line).collect();
    let broken = |(_, found): &AddressListing<'_>| {
        let error = found.as_ref().err();
        error.is_some_and(|error| !error.is_not_found())
    };
    let reasons = lines.join("; ");
    match listings.iter().any(broken) {
        true => AttemptError::LookupFailed(reasons),
        false => AttemptError::NoAgent(reasons),
    }
}

fn skills(found: &[Arc<Discovered>]) -> String {
    let skills = found.iter().flat_map(|agent| &agent.skills);
    let ids: Vec<&str> = skills.map(|skill| skill.id.as_str()).collect();
    if ids.is_empty() { "no skills".to_owned() } else { ids.join(", ") }
}

/// Returns a client for the registry at this address. It asks the registry before every step, so that a newer
/// card is found at once. Cards are cached by digest: they are not pulled again, and are used while the
/// registry cannot be reached.
pub(super) fn registry(url: &Url, auth: RegistryAuth) -> Result<Registry, AttemptError> {
    let options = RegistryOptions { auth, ..RegistryOptions::default() };
    Registry::new(url, options).map_err(fault)
}

fn fault(error: RegistryError) -> AttemptError {
    match error {
        RegistryError::NoSkill { registry, looked, .. } => {
            AttemptError::NoAgent(match looked.is_empty() {
                true => format!("the registry {registry} is empty"),
                false => format!("the registry {registry} has {}", listed(&looked)),
            })
        }
        RegistryError::NoneHealthy { tried, .. } => AttemptError::Unreachable(format!(
            "no agent with the skill answers: {}",
            listed(&tried)
        )),
        error => AttemptError::LookupFailed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use axum::{Json, Router, routing::get};
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    async fn served(card: Value) -> ListedAddress {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let app = Router::new().route("/agent-card", get(async move || Json(card)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        ListedAddress { name: "somebody".to_owned(), url: url.parse().unwrap(), many: false }
    }

    fn card(name: &str, version: &str, skill: &str) -> Value {
        json!({"name": name, "url": "http://127.0.0.1:9", "version": version,
               "skills": [{"id": skill, "description": "", "input_schema": {"type": "object"}}]})
    }

    async fn found(listed: Vec<ListedAddress>, skill: &str) -> Result<String, AttemptError> {
        let directory = Directory::new(listed, None, CallContext::default());
        let found = directory.find(skill, false).await?;
        Ok(found.name().to_owned())
    }

    #[tokio::test]
    async fn the_newest_of_those_with_the_skill_is_found() {
        let listed = vec![
            served(card("plain", "new", "a")).await,
            served(card("old", "1.9.0", "a")).await,
            served(card("first", "1.10.0", "a")).await,
            served(card("second", "1.10.0", "a")).await,
            served(card("other", "2.0.0", "b")).await,
        ];
        assert_eq!(found(listed.clone(), "a").await.unwrap(), "first");
        assert_eq!(found(listed[..1].to_vec(), "a").await.unwrap(), "plain");
        let nobody = found(listed[3..].to_vec(), "c").await.unwrap_err();
        let said = "no agent has the skill; somebody has a; somebody has b";
        assert_eq!(nobody.to_string(), said);
        assert!(!nobody.is_infrastructure());
    }

    #[tokio::test]
    async fn a_catalogue_has_several_agents() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/a2a/catalog", listener.local_addr().unwrap());
        let all = json!({"agents": [card("one", "1.0.0", "a"), card("two", "1.0.0", "b")]});
        let app = Router::new().route("/a2a/catalog", get(async move || Json(all)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let listed =
            vec![ListedAddress { name: "hosts".to_owned(), url: url.parse().unwrap(), many: true }];
        assert_eq!(found(listed.clone(), "b").await.unwrap(), "two");
        let nobody = found(listed, "c").await.unwrap_err().to_string();
        assert_eq!(nobody, "no agent has the skill; hosts has a, b");
    }

    #[tokio::test]
    async fn unreachable_agents_are_reported() {
        let gone = ListedAddress {
            name: "gone".to_owned(),
            url: "http://127.0.0.1:1/".parse().unwrap(),
            many: true,
        };
        let listed = vec![served(card("a", "1.0.0", "a")).await, gone];
        assert_eq!(found(listed.clone(), "a").await.unwrap(), "a");
        let lost = found(listed, "b").await.unwrap_err();
        assert!(lost.is_infrastructure());
        let said = lost.to_string();
        assert!(said.contains("gone: http://127.0.0.1:1/"), "{said}");
    }

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
