//! Assigns names and paths to agents without conflicts, and knows the paths at which agents can be served.

use std::{collections::BTreeSet, sync::Arc};

use super::{Host, HostError};
use crate::{access::Access, agent::Agent};

/// The path at which many clients of 0.3 expect an agent.
pub(super) const CLIENT_0_3_PATH: &str = "/a2a/v1";

/// The first segments of paths that the bridge uses itself.
const RESERVED: [&str; 8] =
    ["v3", "bots", "healthz", "readyz", "metrics", ".well-known", "openapi.json", "docs"];

/// The first segments of the paths below each agent's address that have routes of their own. The first agent has them at `/`
/// and `/a2a`, too.
const OPERATIONS: [&str; 5] = ["v1", "tasks", "extendedAgentCard", "agent.json", "execute"];

/// The path of the catalogue with the cards of all agents, below `/a2a`.
const CATALOGUE: &str = "catalog";

/// An agent with its own path.
pub(super) struct AgentRoute {
    pub(super) agent: Arc<str>,
    pub(super) path: String,
    pub(super) access: Access,
    pub(super) flat_results: bool,
    pub(super) turns: Option<String>,
}

impl Host {
    /// Returns the path and settings of each agent.
    pub(super) fn agent_routes(&self) -> Result<Vec<AgentRoute>, HostError> {
        if self.agents.is_empty() {
            return Err(HostError::NoAgent);
        }
        self.check_settings()?;
        let (mut names, mut taken) = (BTreeSet::new(), BTreeSet::from(["/a2a".to_owned()]));
        let mut agent_routes = Vec::new();
        for Agent { name, .. } in &self.agents {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(HostError::Name(name.to_string()));
            }
            if is_own_name(name) {
                return Err(HostError::Reserved(name.to_string()));
            }
            if !names.insert(name) {
                return Err(HostError::Twice(name.to_string()));
            }
            let path = self.paths.get(&**name).cloned();
            let path = path.unwrap_or_else(|| format!("/a2a/{name}"));
            check_path(&path)
                .map_err(|reason| HostError::Path { agent: name.to_string(), reason })?;
            // The first agent's operations of 0.3 are at this path, unless the first agent itself is there.
            let is_asked = path == CLIENT_0_3_PATH && !agent_routes.is_empty();
            if is_asked || !taken.insert(path.clone()) {
                return Err(HostError::SamePath(path));
            }
            agent_routes.push(AgentRoute {
                agent: Arc::clone(name),
                path,
                access: self.accesses.get(&**name).cloned().unwrap_or_default(),
                flat_results: self.flat_results.contains(&**name),
                turns: self.turns.get(&**name).cloned(),
            });
        }
        check_nested(&agent_routes)?;
        Ok(agent_routes)
    }

    /// Checks that every setting is for a hosted agent, because a setting with a wrong name would have no effect.
    fn check_settings(&self) -> Result<(), HostError> {
        let settings = [
            ("path", self.paths.keys().collect::<Vec<_>>()),
            ("access", self.accesses.keys().collect()),
            ("extended_card", self.extended.keys().collect()),
            ("flat_results", self.flat_results.iter().collect()),
            ("turns", self.turns.keys().collect()),
        ];
        for (setting, agents) in settings {
            let is_unknown =
                |name: &&&String| self.agents.iter().all(|agent| *agent.name != ***name);
            if let Some(agent) = agents.iter().find(is_unknown) {
                return Err(HostError::NoSuchAgent { agent: (*agent).clone(), setting });
            }
        }
        Ok(())
    }
}

/// Checks that no agent is at a path of another one's operations.
fn check_nested(agent_routes: &[AgentRoute]) -> Result<(), HostError> {
    for AgentRoute { agent, path, .. } in agent_routes {
        let owner = agent_routes.iter().find(|owner| is_operation_of(path, &owner.path));
        if let Some(owner) = owner {
            let reason = format!(
                "{path:?} has an operation of agent {:?}, whose path is {:?}; expected another path",
                owner.agent, owner.path
            );
            return Err(HostError::Path { agent: agent.to_string(), reason });
        }
    }
    Ok(())
}

/// Returns whether `/a2a/NAME` is something else than an agent with this name.
pub fn is_own_name(name: &str) -> bool {
    OPERATIONS.contains(&name) || name == CATALOGUE
}

/// Checks that an agent can be served at this path.
///
/// # Errors
/// Returns a description of valid paths if it is not a path of plain words, or is one of the bridge's own.
pub fn check_path(path: &str) -> Result<(), String> {
    let expected = "expected a path such as /agents/one: words of letters, digits, - . _ and ~";
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(plain) && !word.chars().all(|c| c == '.');
    let words: Vec<&str> = path.split('/').skip(1).collect();
    if !path.starts_with('/') || !words.iter().all(|word| is_word(word)) {
        return Err(format!("{expected}; found {path:?}"));
    }
    let is_asked = |words: &[&str]| words.first().is_some_and(|word| OPERATIONS.contains(word));
    let below = words.strip_prefix(&["a2a"]).unwrap_or(&words);
    // The first agent may be at this path, where it replaces its operations of 0.3.
    let is_usual = path == CLIENT_0_3_PATH;
    let is_own = words.starts_with(&["a2a", CATALOGUE]) || is_asked(below) && !is_usual;
    match RESERVED.contains(&words[0]) || is_own {
        true => Err(format!("{path:?} is the bridge's own; expected another path")),
        false => Ok(()),
    }
}

/// Returns whether `path` is one of the operations of an agent at `agent`.
fn is_operation_of(path: &str, agent: &str) -> bool {
    let below = path.strip_prefix(agent).and_then(|rest| rest.strip_prefix('/'));
    let first = below.and_then(|below| below.split('/').next());
    first.is_some_and(|first| OPERATIONS.contains(&first))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridge_protocol::a2a::AgentCard;

    use super::*;
    use crate::{executor::FnExecutor, store::MemoryStore};

    #[tokio::test]
    async fn agents_keep_off_the_operations_of_others() {
        for (name, path, expected) in [
            ("execute", None, Some("something else is at /a2a/execute")),
            ("b", Some("/execute"), Some("\"/execute\" is the bridge's own")),
            ("b", Some("/a/v1"), Some("an operation of agent \"a\", whose path is \"/a\"")),
            ("b", Some("/a/execute"), Some("an operation of agent")),
            ("b", Some("/a/tasks/send"), Some("an operation of agent")),
            ("b", Some("/a/b"), None),
            ("b", Some("/av/v1"), None),
        ] {
            let agent = |name: &str| {
                let echo = FnExecutor(str::to_owned);
                Agent::new(name, AgentCard::named("A", "Echoes"), Arc::new(echo))
            };
            for order in [["first", "a", name], ["a", name, "last"], [name, "a", "last"]] {
                let agents = order.map(agent);
                let mut host = Host::new(Arc::new(MemoryStore::new()), agents).path("a", "/a");
                if let Some(path) = path {
                    host = host.path(name, path);
                }
                let refused = host.router("http://localhost").await.err();
                let refused = refused.map(|error| error.to_string()).unwrap_or_default();
                let is_expected = expected.is_some_and(|expected| refused.contains(expected));
                assert!(
                    is_expected || expected.is_none() && refused.is_empty(),
                    "{path:?} {refused}"
                );
            }
        }
    }
}
