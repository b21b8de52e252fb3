//! Reads references to the requirements or to a step's output, and the result that is built from them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::expect;
use crate::{
    pipeline::{REQUIREMENTS, RESERVED_RESULTS, Reference, first_name},
    reader::{Node, Table},
};

/// The description of a reference in messages.
pub(super) const REFERENCE: &str = "a JSON pointer such as \"/plan/steps\" or a JSONPath such as \"$.plan.steps\" that begins \
                         with requirements or a step's id";

/// Reads a reference, and checks that its source exists.
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
