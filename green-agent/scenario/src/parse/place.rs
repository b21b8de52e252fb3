//! Reads where agents are: at a URL, or in a role.

use super::{roles::DeclaredRoles, values};
use crate::{pipeline::Place, reader::Node};

/// Reads a URL or a role: whatever looks like a URL is one.
pub(super) fn place(node: &Node<'_>, roles: &DeclaredRoles) -> Option<Place> {
    let text = node.text()?;
    match text.contains("://") {
        true => values::endpoint(node).map(Place::Url),
        false => roles.check(text, &[], node).map(Place::Role),
    }
}
