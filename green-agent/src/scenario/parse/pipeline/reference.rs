//! Values that are taken from the requirements or from a step's output, and what is made of them at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::expect;
use crate::scenario::{
    pipeline::{REQUIREMENTS, RESERVED_RESULTS, Reference, first_name},
    reader::{Node, Table},
};

/// What a reference looks like.
pub(super) const REFERENCE: &str = "a JSON pointer such as \"/plan/steps\" or a JSONPath such as \"$.plan.steps\" that begins \
                         with requirements or a step's id";

/// Reads a reference to something that is there.
pub(super) fn reference(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<Reference> {
    let path = expect::value_path(node)?;
    match first_name(&path) {
        Some(source) if source == REQUIREMENTS || ids.contains(&source) => {
            Some(Reference { source, path })
        }
        Some(_) | None => {
            let known: Vec<&str> = ids.iter().map(String::as_str).collect();
            node.expected(format!("{REFERENCE} ({})", known.join(", ")))
        }
    }
}

/// Reads `[config.result]`.
pub(super) fn result(table: &Table<'_>, ids: &BTreeSet<String>) -> BTreeMap<String, Reference> {
    let members = table.entries().filter_map(|(name, node)| {
        if RESERVED_RESULTS.contains(&name) {
            return node.expected(format!(
                "another name, for the evaluator adds {} itself",
                RESERVED_RESULTS.join(" and ")
            ));
        }
        Some((name.to_owned(), reference(&node, ids)?))
    });
    members.collect()
}
