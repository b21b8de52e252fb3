//! Reads the place of an agent: a URL or a role.

use serde_json::json;

use super::{roles::DeclaredRoles, values};
use crate::{
    pipeline::Place,
    reader::{Node, kind},
};

kind! {
    /// A URL, or the role of a participant.
    pub(super) enum PlaceText as "Place";
    |_| json!({"type": "string", "minLength": 1})
}

/// Reads a URL or a role: whatever looks like a URL is one.
pub(super) fn place(node: &Node<'_>, roles: &DeclaredRoles) -> Option<Place> {
    let text = node.text()?;
    match text.contains("://") {
        true => values::endpoint(node).map(Place::Url),
        false => roles.check(text, &[], node).map(Place::Role),
    }
}
