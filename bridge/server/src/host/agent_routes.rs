//! Assigns names and paths to agents without conflicts.

use std::collections::BTreeSet;

use super::{Host, HostError};
use crate::{access::Access, agent::Agent};

/// The path at which many clients of 0.3 expect an agent.
pub(super) const CLIENT_0_3_PATH: &str = "/a2a/v1";

/// The reserved paths below `/a2a`: operations of the first agent, and the catalogue.
const RESERVED: [&str; 4] = ["v1", "tasks", "extendedAgentCard", "catalog"];

/// An agent with its own path.
pub(super) struct AgentRoute {
    pub(super) agent: String,
    pub(super) path: String,
    pub(super) access: Access,
    pub(super) flat_results: bool,
    pub(super) turns: Option<String>,
}

impl Host {
    /// The path and settings of each agent.
    pub(super) fn agent_routes(&self) -> Result<Vec<AgentRoute>, HostError> {
        if self.agents.is_empty() {
            return Err(HostError::NoAgent);
        }
        let (mut names, mut taken) = (BTreeSet::new(), BTreeSet::from(["/a2a".to_owned()]));
        let mut agent_routes = Vec::new();
        for Agent { name, .. } in &self.agents {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(HostError::Name(name.clone()));
            }
            if RESERVED.contains(&name.as_str()) {
                return Err(HostError::Reserved(name.clone()));
            }
            if !names.insert(name) {
                return Err(HostError::Twice(name.clone()));
            }
            let path = self.paths.get(name).cloned();
            let path = path.unwrap_or_else(|| format!("/a2a/{name}"));
            // The first agent's operations of 0.3 are at this path, unless the first agent itself is.
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
}
