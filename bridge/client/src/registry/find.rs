//! Finds the agent that has a skill.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use bridge_http::{root_cause_with_proxy, with_proxy_for};
use bridge_protocol::dialect::places;
use futures_util::{StreamExt as _, stream};
use reqwest::redirect;
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use super::{
    Registry, RegistryError, Result,
    cache::{AT_ONCE, Entry},
};
use crate::{
    Binding,
    discovery::{AgentEndpoint, Discovered},
    without_user,
};

/// The limit for all agents together, as a multiple of that for one.
const ROUNDS: u32 = 5;

/// An agent found in a registry.
#[derive(Clone, Debug)]
pub struct RegistryAgent {
    /// The agent.
    pub agent: Arc<Discovered>,
    /// The repository of its card.
    pub repository: String,
    /// The tag of its card.
    pub tag: String,
    /// The digest of its card's manifest.
    pub digest: String,
    /// The error of the registry, if it could not be asked and this comes from the cache.
    pub stale: Option<RegistryError>,
}

impl Registry {
    /// Finds the agent with this skill; of several, the newest version that is reachable. If the registry cannot be asked,
    /// the cards that it had before are used and [`RegistryAgent::stale`] is set.
    ///
    /// # Errors
    /// [`RegistryError::NoSkill`] with all artifacts of the registry, [`RegistryError::NoneHealthy`] with the
    /// error of each candidate, or the error of the registry if no known card has the skill.
    pub async fn find(&self, skill: &str) -> Result<RegistryAgent> {
        let (entries, stale) = match self.refresh().await {
            Ok(entries) => (entries, None),
            Err(error) => (self.known().clone(), Some(error)),
        };
        let candidates = candidates(&entries, skill);
        if candidates.is_empty() {
            return Err(stale.unwrap_or_else(|| RegistryError::NoSkill {
                registry: self.host.clone(),
                skill: skill.to_owned(),
                looked: entries.iter().map(Entry::described).collect(),
            }));
        }
        if let Some(error) = &stale {
            tracing::warn!(registry = self.host, %error, "the registry cannot be reached; using the cached cards");
        }
        let found = self.healthy(skill, &candidates).await?;
        Ok(RegistryAgent { stale, ..found })
    }

    /// Returns all agents of the registry, each in its newest version.
    ///
    /// # Errors
    /// Returns the error of the registry.
    pub async fn agents(&self) -> Result<Vec<RegistryAgent>> {
        let entries = self.refresh().await?;
        let mut repositories = BTreeSet::new();
        let agents = entries.iter().filter_map(found);
        Ok(agents.filter(|one| repositories.insert(one.repository.clone())).collect())
    }

    /// Returns the first candidate that can be reached. Several are asked at the same time, and all within a limit: each of
    /// them may be silent.
    async fn healthy(&self, skill: &str, candidates: &[RegistryAgent]) -> Result<RegistryAgent> {
        // The futures are created before the stream runs, as in `refresh`.
        let checks: Vec<_> = candidates.iter().map(|one| self.check(&one.agent)).collect();
        let mut checks = stream::iter(checks).buffered(AT_ONCE);
        let mut tried = Vec::new();
        let asking = async {
            for candidate in candidates {
                let RegistryAgent { repository, tag, agent, .. } = candidate;
                let Err(why) = checks.next().await? else {
                    return Some(candidate.clone());
                };
                let url = without_user(agent.endpoint.url());
                tried.push(format!("{repository}:{tag} at {url}: {why}"));
            }
            None
        };
        let limit = self.options.health.saturating_mul(ROUNDS);
        match timeout(limit, asking).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(_) => {
                let others = candidates.len() - tried.len();
                tried.push(format!("{others} others: no answer within {limit:?}"));
            }
        }
        let skill = skill.to_owned();
        Err(RegistryError::NoneHealthy { skill, tried })
    }

    /// Returns whether the agent's server answers with anything but a server error.
    async fn check(&self, agent: &Discovered) -> Result<(), String> {
        match &agent.endpoint {
            // gRPC has no URL for cards, so accepting a connection is enough.
            AgentEndpoint::Interface { binding: Binding::Grpc, url, .. } => {
                self.connects(url).await
            }
            AgentEndpoint::Interface { .. }
            | AgentEndpoint::TasksSend { .. }
            | AgentEndpoint::Execute { .. } => self.answers(agent).await,
        }
    }

    async fn connects(&self, url: &Url) -> Result<(), String> {
        let place = format!(
            "{}:{}",
            url.host_str().unwrap_or_default(),
            url.port_or_known_default().unwrap_or_default()
        );
        let limit = self.options.health;
        match timeout(limit, TcpStream::connect(place)).await {
            Ok(connected) => connected.map(drop).map_err(|error| error.to_string()),
            Err(_) => Err(format!("no connection within {limit:?}")),
        }
    }

    async fn answers(&self, agent: &Discovered) -> Result<(), String> {
        let url = card_of(agent);
        let http = self
            .options
            .tls
            .add_to(reqwest::Client::builder())
            .redirect(redirect::Policy::none())
            .timeout(self.options.health);
        let http = with_proxy_for(&url, http).build().map_err(|error| error.to_string())?;
        match http.get(url).send().await {
            Ok(reply) if reply.status().is_server_error() => {
                Err(format!("HTTP status {}", reply.status().as_u16()))
            }
            Ok(_) => Ok(()),
            Err(error) if error.is_timeout() => {
                Err(format!("no answer within {:?}", self.options.health))
            }
            Err(error) => Err(root_cause_with_proxy(&error)),
        }
    }
}

/// Returns the agents with a skill, newest version first. Of several versions with the same address only the newest
/// is used: the others have been replaced by it.
fn candidates(entries: &[Entry], skill: &str) -> Vec<RegistryAgent> {
    let mut addresses = BTreeSet::new();
    let mut candidates = Vec::new();
    for entry in entries {
        let Some(found) = found(entry) else {
            continue;
        };
        let address = (entry.repository.clone(), found.agent.endpoint.url().clone());
        let is_newest = addresses.insert(address);
        if is_newest && found.agent.skills.iter().any(|one| one.id == skill) {
            candidates.push((entry.version(), found));
        }
    }
    candidates.sort_by_key(|(version, _)| Reverse(version.clone()));
    candidates.into_iter().map(|(_, found)| found).collect()
}

fn found(entry: &Entry) -> Option<RegistryAgent> {
    Some(RegistryAgent {
        agent: entry.read.as_ref().ok()?.clone(),
        repository: entry.repository.clone(),
        tag: entry.tag.clone(),
        digest: entry.digest.clone(),
        stale: None,
    })
}

/// Returns the address of the card at the agent itself.
fn card_of(agent: &Discovered) -> Url {
    let mut url = agent.endpoint.url().clone();
    let path = match &agent.endpoint {
        AgentEndpoint::Execute { .. } => places::EXECUTE,
        AgentEndpoint::Interface { .. } | AgentEndpoint::TasksSend { .. } => places::CURRENT,
    };
    url.set_path(&places::below(url.path(), path));
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::RegistryOptions;
    use serde_json::json;
    use std::time::Duration;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    /// Returns a registry, and agents at this listener with these tags.
    fn agents(
        listener: &TcpListener,
        tags: std::ops::Range<usize>,
        health: Duration,
    ) -> (Registry, Vec<RegistryAgent>) {
        let address = listener.local_addr().unwrap();
        let agent = |tag: usize| {
            let url = format!("http://{address}/{tag}");
            let card = json!({"name": "n", "url": url, "version": "1", "skills": [
                {"id": "plan", "input_schema": {"type": "object"}}]});
            let agent = Discovered::from_card(card, Url::parse(&url).unwrap()).unwrap();
            let (repository, tag, digest) = ("a".to_owned(), tag.to_string(), String::new());
            RegistryAgent { agent: Arc::new(agent), repository, tag, digest, stale: None }
        };
        let options = RegistryOptions { health, ..RegistryOptions::default() };
        let registry = Registry::new(&Url::parse("http://localhost:5000").unwrap(), options);
        (registry.unwrap(), tags.map(agent).collect())
    }

    /// The server answers once two agents are asked.
    #[tokio::test]
    async fn agents_are_asked_at_the_same_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (registry, agents) = agents(&listener, 0..2, Duration::from_secs(5));
        let answering = tokio::spawn(async move {
            let (mut one, mut other) =
                (listener.accept().await.unwrap().0, listener.accept().await.unwrap().0);
            for socket in [&mut one, &mut other] {
                socket.read_u8().await.unwrap();
            }
            for socket in [&mut one, &mut other] {
                let _gone = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
            (one, other)
        });
        let found = registry.healthy("plan", &agents).await.unwrap();
        assert_eq!(found.tag, "0");
        answering.await.unwrap();
    }

    #[tokio::test]
    async fn silent_agents_are_given_up_together() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (registry, agents) = agents(&listener, 0..200, Duration::from_millis(20));
        let error = registry.healthy("plan", &agents).await.unwrap_err();
        let RegistryError::NoneHealthy { tried, .. } = &error else {
            panic!("{error}");
        };
        let last = tried.last().unwrap();
        assert!(last.ends_with(" others: no answer within 100ms"), "{last}");
    }
}
