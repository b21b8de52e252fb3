//! Reads the address of an agent: a URL or a role.

use serde_json::json;

use super::{roles::DeclaredRoles, values};
use crate::{
    pipeline::AgentAddress,
    reader::{Node, kind},
};

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
