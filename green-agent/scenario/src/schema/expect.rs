//! The shape of `[[harness.expect]]`.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::parse::check_names;

/// An expectation of the run: either a check of a value (on, optionally path, and one check), or a sequence.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = [value_rule(), sequence_rule()]))]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Expectation {
    /// Whether the check is negated.
    #[schemars(extend("default" = false))]
    not: Option<bool>,
    /// The target: artifact:NAME, task:ROLE, status:N, mcp:TOOL, result, or a metric's name.
    #[schemars(length(min = 1))]
    on: Option<String>,
    /// The path in the target: a JSON pointer such as "/score" or a JSONPath such as "$.score"; the whole
    /// target if absent.
    #[schemars(regex(pattern = r"^($|/|\$)"))]
    path: Option<String>,
    /// The value is equal; numbers are compared by value.
    eq: Option<Value>,
    /// The value is not equal.
    ne: Option<Value>,
    /// The value is a number greater than this.
    gt: Option<f64>,
    /// The value is a number of at least this.
    ge: Option<f64>,
    /// The value is a number less than this.
    lt: Option<f64>,
    /// The value is a number of at most this.
    le: Option<f64>,
    /// The value is a text that contains this text, a list that contains this element, or an object that has
    /// these members.
    contains: Option<Value>,
    /// A regular expression that finds a match in the text.
    matches: Option<String>,
    /// A JSON Schema under which the value is valid.
    schema: Option<Value>,
    /// Whether the value must exist, or must not.
    exists: Option<bool>,
    /// The number of nodes, elements, members or characters.
    #[schemars(range(min = 0))]
    count: Option<i64>,
    /// Labels of events that must occur in this order, with others allowed between them: status:working,
    /// mcp:tools/call, task:completed; * matches any text.
    #[schemars(length(min = 1), inner(regex(pattern = r"\S")))]
    sequence: Option<Vec<String>>,
    /// The hop on which the sequence is searched for, such as "green -> purple"; any hop if absent.
    #[schemars(regex(pattern = r"\S\s*->\s*\S"))]
    hop: Option<String>,
}

fn value_rule() -> Value {
    json!({
        "required": ["on"],
        "not": {"anyOf": [{"required": ["sequence"]}, {"required": ["hop"]}]},
        "oneOf": check_names().map(|name| json!({"required": [name]})),
    })
}

fn sequence_rule() -> Value {
    let others = ["on", "path"].into_iter().chain(check_names());
    let others: Vec<Value> = others.map(|name| json!({"required": [name]})).collect();
    json!({"required": ["sequence"], "not": {"anyOf": others}})
}
