//! Reads references to the requirements or to a step's output, and the result that is built from them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::super::expect;
use crate::{
    pipeline::{REQUIREMENTS, RESERVED_RESULTS, Reference, first_name},
    reader::{Node, kind},
};

kind! {
    /// A reference to a value in the requirements or in the outputs of steps: a JSON pointer such as
    /// "/plan/steps" or a JSONPath such as "$.plan.steps", which begins with requirements or a step's id.
    pub(super) enum ReferenceText as "Reference";
    |_| json!({"type": "string", "pattern": r"^[/$]"})
}

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
pub(super) fn result(
    node: &Node<'_>,
    ids: &BTreeSet<String>,
) -> Option<BTreeMap<String, Reference>> {
    let table = node.table()?;
    let members = table.entries().filter_map(|(name, node)| {
        if RESERVED_RESULTS.contains(&name) {
            return node.expected(format!(
                "another name, because the evaluator adds {} itself",
                RESERVED_RESULTS.join(" and ")
            ));
        }
        Some((name.to_owned(), reference(&node, ids)?))
    });
    Some(members.collect())
}
