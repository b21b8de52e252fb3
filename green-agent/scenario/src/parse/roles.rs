//! The participants of a file, for tables that refer to roles.

use std::collections::BTreeMap;

use crate::{error::Problem, model::Agent, reader::Node};

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
