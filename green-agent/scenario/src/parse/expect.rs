//! Reads `[[harness.expect]]`: either a check of a value (`on`, `path`, one check) or a `sequence` of labels.

use serde_json::{Value, json};
use serde_json_path::JsonPath;

use super::{check::APART, roles::DeclaredRoles, values};
use crate::{
    error::Problem,
    expectation::{Expectation, Rule, Target, ValuePath},
    reader::{ALIKE, Key, Node, Table, table},
};
use green_agent_transcript::{
    Hop,
    label::{KINDS, PLAIN, STATES, UNKNOWN},
};

table! {
    /// An expectation of the run: either a check of a value (on, optionally path, and one check), or a sequence.
    pub(super) struct ExpectationKeys<'a> as "Expectation", closed, with(either_rule) {
        /// Whether the check is negated.
        default not: bool = false,
        /// The target: artifact:NAME, the data of the evaluator's artifact with this name (a list if it has several data
        /// parts), or its text if it has no data, and a list if there are several such artifacts; task:ROLE, the last task
        /// that this role sent, as in A2A 1.0; status:N, the evaluation's Nth status, -1 for the last; mcp:TOOL, the calls of
        /// a tool, a list of {arguments, result}; result, the list of the data of all artifacts; or the name of a metric.
        later on: Key<'a> as String {"minLength": 1},
        /// The path in the target: a JSON pointer such as "/score" or a JSONPath such as "$.score"; the whole
        /// target if absent.
        later path: Key<'a> as String {"pattern": r"^($|/|\$)"},
        /// The value is equal; numbers are compared by value.
        later eq: Key<'a> as Value,
        /// The value is not equal.
        later ne: Key<'a> as Value,
        /// The value is a number greater than this.
        later gt: Key<'a> as f64,
        /// The value is a number of at least this.
        later ge: Key<'a> as f64,
        /// The value is a number less than this.
        later lt: Key<'a> as f64,
        /// The value is a number of at most this.
        later le: Key<'a> as f64,
        /// The value is a text that contains this text, a list that contains this element, or an object that has
        /// these members.
        later contains: Key<'a> as Value,
        /// A regular expression that finds a match in the text.
        later matches: Key<'a> as String,
        /// A JSON Schema under which the value is valid.
        later schema: Key<'a> as Value,
        /// Whether the value must exist, or must not.
        later exists: Key<'a> as bool,
        /// The number of nodes, elements, members or characters.
        later count: Key<'a> as i64 {"minimum": 0},
        /// Labels of events that must occur in this order, with others allowed between them: status:working,
        /// mcp:tools/call, task:completed; * matches any text.
        later sequence: Key<'a> as Vec<String> {"items": {"type": "string", "pattern": r"\S"}, "minItems": 1},
        /// The hop on which the sequence is searched for, such as "green -> purple"; any hop if absent.
        later hop: Key<'a> as String {"pattern": r"\S\s*->\s*\S"},
    }
}

/// Returns the rule that an expectation is either a check of a value or a sequence.
fn either_rule(keys: &[&str]) -> Value {
    let has = |name: &&str| json!({"required": [name]});
    let checks: Vec<Value> = check_names(keys).map(|name| has(&name)).collect();
    let value_keys = [has(&"on"), has(&"path")].into_iter().chain(checks.clone());
    json!({"oneOf": [
        {
            "required": ["on"],
            "not": {"anyOf": [has(&"sequence"), has(&"hop")]},
            "oneOf": checks,
        },
        {"required": ["sequence"], "not": {"anyOf": value_keys.collect::<Value>()}},
    ]})
}

/// Returns the keys that are checks.
pub(super) fn check_names<'a>(keys: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let others = ["not", "on", "path", "sequence", "hop"];
    keys.iter().copied().filter(move |name| !others.contains(name))
}

/// Reads one expectation.
pub(super) fn expectation(table: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Expectation> {
    let keys = ExpectationKeys::of(table)?;
    let rule = match keys.sequence.node() {
        Some(labels) => {
            keys.reject_beside_sequence();
            sequence_rule(labels, keys.hop.node(), roles)
        }
        None => {
            if let Some(node) = keys.hop.node() {
                node.expected::<()>("it only beside sequence");
            }
            keys.value_rule(roles)
        }
    };
    Some(Expectation { line: table.line(), not: keys.not, rule: rule? })
}

impl ExpectationKeys<'_> {
    fn reject_beside_sequence(&self) {
        let checks = self.checks().map(|(key, _)| key);
        for node in [&self.on, &self.path].into_iter().chain(checks).filter_map(Key::node) {
            let (other, advice) = ("sequence", APART);
            node.report(Problem::Together { other, advice });
        }
    }

    fn value_rule(&self, roles: &DeclaredRoles) -> Option<Rule> {
        let on = self.on.need("what is looked at, such as \"artifact:Result\", or sequence");
        let on = on.and_then(|node| target(node, roles));
        let path = self.path.node().and_then(value_path);
        let check = self.single_check();
        Some(Rule::Value { on: on?, path, check: check? })
    }
}

fn sequence_rule(labels: &Node<'_>, hop: Option<&Node<'_>>, roles: &DeclaredRoles) -> Option<Rule> {
    let hop = hop.and_then(|node| self::hop(node, roles));
    if labels.list()?.is_empty() {
        return labels.expected("at least one label such as \"task:completed\"");
    }
    let labels = labels.list_of(|label| {
        let text = label.filled("a label such as \"status:working\"")?;
        can_occur(label, &text).then_some(text)
    })?;
    Some(Rule::Sequence { labels, hop })
}

/// Checks that a transcript entry can have this label, as far as the file tells: with a misspelled label, an
/// expectation with `not` would always hold. The tools of MCP servers are known only in the run.
fn can_occur(node: &Node<'_>, label: &str) -> bool {
    let (written, known) = match label.split_once(':') {
        _ if label.starts_with('*') => return true,
        None => (label, PLAIN.iter().chain(&KINDS).copied().collect::<Vec<_>>()),
        Some(("task" | "status", state)) => (state, [&STATES[..], &[UNKNOWN]].concat()),
        Some(("error" | "http", number)) => {
            let is_number = number.contains('*') || number.parse::<i64>().is_ok();
            if !is_number {
                node.expected::<()>("a number after the colon, such as http:401 or error:-32001");
            }
            return is_number;
        }
        Some((kind, _)) => (kind, KINDS.to_vec()),
    };
    if written.contains('*') || known.contains(&written) {
        return true;
    }
    let nearest = nearest(written, &known).map(|word| label.replacen(written, word, 1));
    node.report(Problem::UnknownLabel { nearest, known });
    false
}

fn hop(node: &Node<'_>, roles: &DeclaredRoles) -> Option<Hop> {
    let hop = node.read("a hop such as \"green -> purple\"", |text| text.parse::<Hop>().ok())?;
    for end in [&hop.from, &hop.to] {
        roles.check(end, &["green", "runner", "environment"], node)?;
    }
    Some(hop)
}

/// The words before the colon of a target.
const TARGETS: [&str; 4] = ["artifact", "mcp", "task", "status"];

fn target(node: &Node<'_>, roles: &DeclaredRoles) -> Option<Target> {
    let text = node.text()?;
    match text.split_once(':') {
        Some(("artifact", name)) => named(node, name).map(Target::Artifact),
        Some(("mcp", tool)) => named(node, tool).map(Target::Mcp),
        Some(("task", role)) => roles.check(role, &["green"], node).map(Target::Task),
        Some(("status", number)) => status(node, number),
        None if text == "result" => Some(Target::Result),
        Some((kind, _)) => match nearest(kind, &TARGETS) {
            Some(meant) => node.expected(text.replacen(kind, meant, 1)),
            None => Some(Target::Metric(text.to_owned())),
        },
        None if TARGETS.contains(&text) => named(node, "").map(Target::Metric),
        None => named(node, text).map(Target::Metric),
    }
}

/// Returns the known word that is most similar to what was written.
fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let nearest = similar::get_close_matches(written, known, 1, ALIKE);
    nearest.first().copied()
}

fn named(node: &Node<'_>, name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return node.expected("a name of what is looked at, such as \"artifact:Result\"");
    }
    Some(name.to_owned())
}

fn status(node: &Node<'_>, number: &str) -> Option<Target> {
    match number.parse() {
        Ok(number) if number != 0 => Some(Target::Status(number)),
        Ok(_) | Err(_) => node.expected("status:N, from 1, or from -1 counted from the end"),
    }
}

pub(super) fn value_path(node: &Node<'_>) -> Option<ValuePath> {
    let text = node.text()?;
    if text.starts_with('$') {
        return match JsonPath::parse(text) {
            Ok(path) => Some(ValuePath::JsonPath(Box::new(path))),
            Err(error) => node.malformed("a JSONPath", &error.to_string()),
        };
    }
    if values::is_pointer(text) {
        return Some(ValuePath::Pointer(text.to_owned()));
    }
    node.expected("a JSON pointer such as \"/score\" or a JSONPath such as \"$.score\"")
}

#[cfg(test)]
mod tests;
