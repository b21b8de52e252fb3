//! The shape of `[[harness.expect]]`.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::scenario::parse::check_names;

/// What is expected of the run: either a check of a value (on, perhaps path, and one check), or a sequence.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = [value_rule(), sequence_rule()]))]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Expectation {
    /// Turns the outcome round.
    #[schemars(extend("default" = false))]
    not: Option<bool>,
    /// What is looked at: artifact:NAME, task:ROLE, status:N, mcp:TOOL, result, or a metric's name.
    #[schemars(length(min = 1))]
    on: Option<String>,
    /// Where in it: a JSON pointer such as "/score" or a JSONPath such as "$.score"; the whole if absent.
    #[schemars(regex(pattern = r"^($|/|\$)"))]
    path: Option<String>,
    /// Equal; numbers by value.
    eq: Option<Value>,
    /// Not equal.
    ne: Option<Value>,
    /// A number greater than this.
    gt: Option<f64>,
    /// A number of at least this.
    ge: Option<f64>,
    /// A number less than this.
    lt: Option<f64>,
    /// A number of at most this.
    le: Option<f64>,
    /// A text with this inside, a list with this element, an object with these members.
    contains: Option<Value>,
    /// A regular expression that finds a match in the text.
    matches: Option<String>,
    /// A JSON Schema under which the value is valid.
    schema: Option<Value>,
    /// There is such a value, or there is none.
    exists: Option<bool>,
    /// So many nodes, elements, members or characters.
    #[schemars(range(min = 0))]
    count: Option<i64>,
    /// Labels of events that follow each other, others between them allowed: status:working, mcp:tools/call,
    /// task:completed; * stands for any text.
    #[schemars(length(min = 1), inner(regex(pattern = r"\S")))]
    sequence: Option<Vec<String>>,
    /// The sequence is looked for on this hop only, such as "green -> purple".
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
