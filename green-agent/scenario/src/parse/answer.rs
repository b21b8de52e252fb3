//! Reads the checks of `[[config.turn]] expect`, which have the keys of `[[harness.expect]]` without a target.

use serde_json::{Value, json};

use super::expect::{self, ExpectationKeys};
use crate::{
    expectation::{AnswerCheck, Check},
    reader::{Key, Keys as _, Table, kind},
};

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
        let checks = expect::check_names(ExpectationKeys::KEYS);
        schema["oneOf"] = checks.map(|name| json!({"required": [name]})).collect::<Value>();
        schema
    }
}

/// Reads one check of an answer.
pub(super) fn check(table: &mut Table<'_>) -> Option<AnswerCheck> {
    let keys = ExpectationKeys::of(table)?;
    let of_run = [&keys.on, &keys.sequence, &keys.hop];
    for node in of_run.into_iter().filter_map(Key::node) {
        node.expected::<()>("it only in [[harness.expect]], since a turn checks its answer");
    }
    let path = keys.path.node().and_then(expect::value_path);
    let check = match keys.single_check()? {
        // The text of an answer contains digits and no number. A placeholder may have become one.
        Check::Contains(sought @ (Value::Number(_) | Value::Bool(_))) if path.is_none() => {
            Check::Contains(sought.to_string().into())
        }
        check => check,
    };
    Some(AnswerCheck { line: table.line(), not: keys.not, path, check })
}
