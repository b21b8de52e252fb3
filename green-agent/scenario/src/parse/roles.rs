//! The participants of a file, and references to them.

use std::collections::BTreeMap;

use serde_json::json;

use super::values;
use crate::{
    error::Problem,
    model::Agent,
    pipeline::AgentAddress,
    reader::{Node, kind},
};

/// The participants and the roles that other tables may name.
#[derive(Default)]
pub(super) struct DeclaredRoles {
    /// The participants without mistakes.
    pub(super) agents: Vec<Agent>,
    /// The roles of all participants with their lines. Participants with mistakes are included, so that
    /// references to them are not reported as well.
    pub(super) roles: BTreeMap<String, usize>,
    /// The number of participant tables.
    pub(super) declared: usize,
}

impl DeclaredRoles {
    /// Returns whether some participants have mistakes, so that only their roles, or not even these, are
    /// known.
    pub(super) fn has_mistakes(&self) -> bool {
        self.agents.len() < self.declared
    }

    /// Reports an evaluator that calls participants if one of them cannot be called.
    pub(super) fn reject_clients(&self, evaluator: &Node<'_>) {
        if let Some(Agent { role, .. }) = self.agents.iter().find(|agent| agent.start.is_client()) {
            let other =
                format!("another one for {role:?}, which does not listen and cannot be called");
            evaluator.expected::<()>(other);
        }
    }

    /// Returns the role if a participant has it or it is one of `others`, the harness's own parties;
    /// otherwise reports an error.
    pub(super) fn check(&self, role: &str, others: &[&str], node: &Node<'_>) -> Option<String> {
        if self.roles.contains_key(role) || others.contains(&role) {
            return Some(role.to_owned());
        }
        let own = others.iter().map(|other| (*other).to_owned());
        let known = self.roles.keys().cloned().chain(own).collect();
        node.report(Problem::UnknownRole { role: role.to_owned(), known });
        None
    }
}

kind! {
    /// A URL, or the role of a participant.
    pub(super) enum AgentAddressText as "AgentAddress";
    |_| json!({"type": "string", "minLength": 1})
}

/// Reads a URL or a role. A text with `://` is a URL.
pub(super) fn agent_address(node: &Node<'_>, roles: &DeclaredRoles) -> Option<AgentAddress> {
    let text = node.text()?;
    match text.contains("://") {
        true => values::endpoint(node).map(AgentAddress::Url),
        false => roles.check(text, &[], node).map(AgentAddress::Role),
    }
}
