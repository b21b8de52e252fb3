//! Reads `[[harness.expect]]`: either a check of a value (`on`, `path`, one check) or a `sequence` of labels. The checks of
//! `[[config.turn]] expect` have the same keys without a target.
//!
//! Expressions are compiled here, so that a wrong one is a mistake in the file and not an error of the run.

use regex::Regex;
use serde_json::{Value, json};
use serde_json_path::JsonPath;

use super::{roles::DeclaredRoles, values};
use crate::{
    error::Problem,
    expectation::{AnswerCheck, Check, Expectation, Rule, Target, ValuePath},
    reader::{Key, Keys as _, Node, Table, kind, nearest, table},
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

/// The advice for two checks in one expectation.
pub(super) const APART: &str = "write an expectation for each";

type Read = fn(&Node<'_>) -> Option<Check>;

impl<'a> ExpectationKeys<'a> {
    /// Returns the checks, of which a value expectation has one.
    pub(super) fn checks(&self) -> [(&Key<'a>, Read); 11] {
        [
            (&self.eq, |node| node.json().map(Check::Eq)),
            (&self.ne, |node| node.json().map(Check::Ne)),
            (&self.gt, |node| node.number().map(Check::Gt)),
            (&self.ge, |node| node.number().map(Check::Ge)),
            (&self.lt, |node| node.number().map(Check::Lt)),
            (&self.le, |node| node.number().map(Check::Le)),
            (&self.contains, |node| node.json().map(Check::Contains)),
            (&self.matches, |node| pattern(node).map(Check::Matches)),
            (&self.schema, |node| schema(node).map(Check::Schema)),
            (&self.exists, |node| node.flag().map(Check::Exists)),
            (&self.count, |node| node.integer(0).map(Check::Count)),
        ]
    }

    /// Returns the only check; reports an error if there is none or several.
    pub(super) fn single_check(&self) -> Option<Check> {
        let checks = self.checks();
        let mut found =
            checks.iter().filter_map(|(key, read)| Some((key.name(), read, key.node()?)));
        let Some((other, read, node)) = found.next() else {
            let names = checks.map(|(key, _)| key.name()).join(", ");
            return self.eq.missing(&format!("exactly one of {names}"));
        };
        let others: Vec<_> = found.map(|(_, _, node)| node).collect();
        for node in &others {
            node.report(Problem::Together { other, advice: APART });
        }
        read(node).filter(|_| others.is_empty())
    }
}

pub(super) fn pattern(node: &Node<'_>) -> Option<Regex> {
    match Regex::new(node.text()?) {
        Ok(regex) => Some(regex),
        Err(error) => {
            // The message draws the expression with a mark below it; its last line says what is wrong.
            let message = error.to_string();
            let reason = message.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            node.malformed("a regular expression", reason)
        }
    }
}

fn schema(node: &Node<'_>) -> Option<Value> {
    let schema = node.json()?;
    match jsonschema::validator_for(&schema) {
        Ok(_) => Some(schema),
        Err(error) => node.malformed("a JSON Schema", &error.to_string()),
    }
}

/// The keys of an expectation that a check of an answer does not have.
const OF_RUN: [&str; 3] = ["on", "sequence", "hop"];

/// What `path` is in an answer.
const PATH: &str = "The path in the answer's JSON: a JSON pointer such as \"/city\" or a JSONPath such as \"$.city\". The JSON is \
    the answer's data, or its text if that is JSON, or has JSON in a fenced block. Without a path, contains, matches, and eq and \
    ne of a text see the answer's text; other checks see all of the JSON, or the text if there is none.";

kind! {
    /// A check of the answer: optionally path, and one check.
    pub(super) enum AnswerKeys as "AnswerCheck"; |generator| {
        let mut schema = ExpectationKeys::json_schema(generator).to_value();
        if let Some(keys) = schema["properties"].as_object_mut() {
            keys.retain(|name, _| !OF_RUN.contains(&name.as_str()));
        }
        schema["properties"]["path"]["description"] = PATH.into();
        let checks = check_names(ExpectationKeys::KEYS);
        schema["oneOf"] = checks.map(|name| json!({"required": [name]})).collect::<Value>();
        schema
    }
}

/// Reads one check of an answer.
pub(super) fn answer_check(table: &mut Table<'_>) -> Option<AnswerCheck> {
    let keys = ExpectationKeys::of(table)?;
    let of_run = [&keys.on, &keys.sequence, &keys.hop];
    for node in of_run.into_iter().filter_map(Key::node) {
        node.expected::<()>("it only in [[harness.expect]], since a turn checks its answer");
    }
    let path = keys.path.node().and_then(value_path);
    let check = match keys.single_check()? {
        // The text of an answer contains digits and no number. A placeholder may have become one.
        Check::Contains(sought @ (Value::Number(_) | Value::Bool(_))) if path.is_none() => {
            Check::Contains(sought.to_string().into())
        }
        check => check,
    };
    Some(AnswerCheck { line: table.line(), not: keys.not, path, check })
}

#[cfg(test)]
mod tests;
