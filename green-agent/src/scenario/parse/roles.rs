//! Who takes part, for the tables that name roles.

use std::collections::BTreeMap;

use crate::scenario::{error::Problem, model::Agent, reader::Node};

/// The participants and the roles that other tables may name.
#[derive(Default)]
pub(super) struct DeclaredRoles {
    /// Those without mistakes.
    pub(super) agents: Vec<Agent>,
    /// Every participant's role with its line, also of those whose other keys are wrong: a mistake in
    /// one table is no reason to complain about another.
    pub(super) roles: BTreeMap<String, usize>,
    /// How many tables there are.
    pub(super) declared: usize,
}

impl DeclaredRoles {
    /// Whether some participant is known only by its role, or not even by that.
    pub(super) fn has_mistakes(&self) -> bool {
        self.agents.len() < self.declared
    }

    /// The role, if a participant has it or it is among the harness's own parties in `others`.
    pub(super) fn check(&self, role: &str, others: &[&str], node: &Node<'_>) -> Option<String> {
        if self.roles.contains_key(role) || others.contains(&role) {
            return Some(role.to_owned());
        }
        let own = others.iter().map(|other| (*other).to_owned());
        let known = self.roles.keys().cloned().chain(own).collect();
        let role = role.to_owned();
        node.report(Problem::UnknownRole { role, known });
        None
    }
}
