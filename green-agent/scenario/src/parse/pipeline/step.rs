//! Reads `[[config.step]]`: a step's skill, input and dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::reference::{REFERENCE, ReferenceText, reference};
use crate::{
    duration::{AnyDuration, Limit},
    pipeline::{Input, REQUIREMENTS, Step},
    reader::{Key, Node, kind, table},
};

table! {
    /// One step of a pipeline.
    pub(super) struct StepKeys<'a> as "Step", closed {
        /// The name of the step's output in references.
        later_required id: Key<'a> as String {"pattern": "^[A-Za-z0-9_-]+$", "not": {"const": REQUIREMENTS}},
        /// The id of the step's skill.
        later_required skill: Key<'a> as String {"pattern": r"\S"},
        /// The skill's parameters.
        later input: Key<'a> as BTreeMap<String, Parameter>,
        /// Steps that must have ended before, in addition to those whose outputs it needs.
        later after: Key<'a> as Vec<String>,
        /// The number of retries.
        default retries: u32 = 0,
        /// The pause before the first retry; each further pause is twice as long.
        default backoff: Duration as AnyDuration = "500ms",
        /// The time limit of one attempt.
        optional timeout: Duration as Limit,
    }
}

table! {
    /// A literal value.
    // The table is open, because other keys are reported only beside a value.
    struct LiteralKeys<'a> as "Literal", open, with(|_| json!({"additionalProperties": false})) {
        /// JSON of any kind.
        later_required value: Key<'a> as Value,
    }
}

kind! {
    /// A parameter: a reference, or a table with the value itself.
    enum Parameter;
    |generator| {
        let reference = generator.subschema_for::<ReferenceText>();
        json!({"anyOf": [reference, generator.subschema_for::<LiteralKeys<'_>>()]})
    }
}

/// Reads the step on a line; `ids` are those of all steps.
pub(super) fn step(line: usize, keys: &StepKeys<'_>, ids: &BTreeSet<String>) -> Option<Step> {
    let id = keys
        .id
        .need("the name of the step's output")
        .and_then(|node| node.read(&id_expected(), |text| is_id(text).then(|| text.to_owned())));
    let skill = keys.skill.need("the id of the skill that does it");
    let skill = skill.and_then(|node| node.filled("the id of a skill"));
    let input = keys.input.node().and_then(|node| input(node, ids));
    let after = keys.after.node().and_then(|node| after(node, ids));
    Some(Step {
        line,
        id: id?,
        skill: skill?,
        input: input.unwrap_or_default(),
        after: after.unwrap_or_default(),
        retries: keys.retries,
        backoff: keys.backoff,
        timeout: keys.timeout,
    })
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

fn input(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<BTreeMap<String, Input>> {
    let table = node.table()?;
    let parameters = table.entries();
    let parameters =
        parameters.filter_map(|(name, node)| Some((name.to_owned(), parameter(&node, ids)?)));
    Some(parameters.collect())
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
    let keys = LiteralKeys::of(&mut table)?;
    let value = keys.value.need("the parameter's value")?.json();
    table.reject_unknown();
    value.map(Input::Value)
}

fn after(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    let expected = format!("the id of a step: {}", known.join(", "));
    let named = node
        .list_of(|node| node.read(&expected, |text| ids.contains(text).then(|| text.to_owned())));
    Some(named?.into_iter().collect())
}
