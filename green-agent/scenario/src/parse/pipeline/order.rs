//! Checks the dependencies between steps.

use std::collections::BTreeSet;

use crate::{
    pipeline::{Pipeline, Step},
    reader::Node,
};

/// Checks that every id is unique, and that no step depends on itself.
pub(super) fn check(nodes: &[Node<'_>], pipeline: &Pipeline) {
    let mut seen = BTreeSet::new();
    for (node, step) in nodes.iter().zip(&pipeline.steps) {
        if !seen.insert(&step.id) {
            node.expected::<()>(format!("another id, because {:?} is taken", step.id));
        } else if waits_for(pipeline, step).contains(step.id.as_str()) {
            node.expected::<()>(format!(
                "a step that can begin, because {:?} waits for itself",
                step.id
            ));
        }
    }
}

/// Returns all steps on which a step depends, directly or not.
fn waits_for<'a>(pipeline: &'a Pipeline, step: &'a Step) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&str> = step.needs().into_iter().collect();
    while let Some(id) = open.pop() {
        if all.insert(id) {
            let named = pipeline.steps.iter().filter(|other| other.id == id);
            open.extend(named.flat_map(Step::needs));
        }
    }
    all
}
