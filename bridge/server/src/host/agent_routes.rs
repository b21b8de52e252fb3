//! Assigns names and paths to agents without conflicts.

use std::collections::BTreeSet;

use super::{
    Host, HostError,
    agent_path::{check_path, is_own_name},
};
use crate::{access::Access, agent::Agent};

/// The path at which many clients of 0.3 expect an agent.
pub(super) const CLIENT_0_3_PATH: &str = "/a2a/v1";

/// An agent with its own path.
pub(super) struct AgentRoute {
    pub(super) agent: String,
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
                return Err(HostError::Name(name.clone()));
            }
            if is_own_name(name) {
                return Err(HostError::Reserved(name.clone()));
            }
            if !names.insert(name) {
                return Err(HostError::Twice(name.clone()));
            }
            let path = self.paths.get(name).cloned();
            let path = path.unwrap_or_else(|| format!("/a2a/{name}"));
            check_path(&path).map_err(|reason| HostError::Path { agent: name.clone(), reason })?;
            // The first agent's operations of 0.3 are at this path, unless the first agent itself is there.
            let is_asked = path == CLIENT_0_3_PATH && !agent_routes.is_empty();
            if is_asked || !taken.insert(path.clone()) {
                return Err(HostError::SamePath(path));
            }
            agent_routes.push(AgentRoute {
                agent: name.clone(),
                path,
                access: self.accesses.get(name).cloned().unwrap_or_default(),
                flat_results: self.flat_results.contains(name),
                turns: self.turns.get(name).cloned(),
            });
        }
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
                |name: &&&String| self.agents.iter().all(|agent| agent.name != ***name);
            if let Some(agent) = agents.iter().find(is_unknown) {
                return Err(HostError::NoSuchAgent { agent: (*agent).clone(), setting });
            }
        }
        Ok(())
    }
}
