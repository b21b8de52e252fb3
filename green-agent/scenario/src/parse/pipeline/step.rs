//! Reads `[[config.step]]`: a step's skill, input and dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    super::values,
    reference::{REFERENCE, reference},
};
use crate::{
    pipeline::{Input, REQUIREMENTS, Step},
    reader::{Node, Table},
};

/// The default pause before the first retry.
const BACKOFF: Duration = Duration::from_millis(500);

/// Returns the ids of all steps, also of those whose other keys are wrong.
pub(super) fn ids(steps: &[Node<'_>]) -> BTreeSet<String> {
    let tables = steps.iter().filter(|node| node.is_table());
    let id = |node: &Node<'_>| Some(node.table()?.get("id")?.as_text()?.to_owned());
    tables.filter_map(id).collect()
}

pub(super) fn step(table: &mut Table<'_>, ids: &BTreeSet<String>) -> Option<Step> {
    let id = table
        .need("id", "what the step's output is called")
        .and_then(|node| node.read(&id_expected(), |text| is_id(text).then(|| text.to_owned())));
    let skill = table.need("skill", "the id of the skill that does it");
    let skill = skill.and_then(|node| {
        node.read("the id of a skill", |text| {
            (!text.trim().is_empty()).then(|| text.to_owned())
        })
    });
    let step = Step {
        line: table.line(),
        id: id.clone().unwrap_or_default(),
        skill: skill.clone().unwrap_or_default(),
        input: table
            .table("input")
            .map(|table| input(&table, ids))
            .unwrap_or_default(),
        after: after(table, ids),
        retries: table
            .get("retries")
            .and_then(|node| node.integer(0))
            .unwrap_or(0),
        backoff: table
            .get("backoff")
            .and_then(|node| values::duration(&node))
            .unwrap_or(BACKOFF),
        timeout: table.get("timeout").and_then(|node| values::limit(&node)),
    };
    table.reject_unknown();
    id.and(skill).map(|_| step)
}

fn id_expected() -> String {
    format!("letters, digits, dashes and underscores, and not {REQUIREMENTS:?}")
}

/// Returns whether a text can be an id. Ids are parts of pointers and paths, so they contain nothing that
/// needs escaping there.
fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(plain) && text != REQUIREMENTS
}

fn input(table: &Table<'_>, ids: &BTreeSet<String>) -> BTreeMap<String, Input> {
    let parameters = table.entries();
    parameters
        .filter_map(|(name, node)| Some((name.to_owned(), parameter(&node, ids)?)))
        .collect()
}

/// Reads a parameter. A text is a reference; a literal value is in a table under `value`.
fn parameter(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<Input> {
    if node.as_text().is_some() {
        return reference(node, ids).map(Input::From);
    }
    let mut table = match node.is_table() {
        true => node.table()?,
        false => return node.expected(format!("{REFERENCE}, or {{ value = ... }}")),
    };
    let value = table.need("value", "the parameter's value")?.json();
    table.reject_unknown();
    value.map(Input::Value)
}

fn after(table: &mut Table<'_>, ids: &BTreeSet<String>) -> BTreeSet<String> {
    let known = ids
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let expected = format!("the id of a step: {known}");
    let named = table.get("after").and_then(|list| {
        list.list_of(|node| {
            node.read(&expected, |text| {
                ids.contains(text).then(|| text.to_owned())
            })
        })
    });
    named.unwrap_or_default().into_iter().collect()
}
