//! Reads the checks of `[[harness.expect]]`. Expressions are compiled here, so that a wrong one is a mistake
//! in the file and not an error of the run.

use regex::Regex;
use serde_json::Value;

use crate::{
    error::Problem,
    expectation::Check,
    reader::{Node, Table},
};

/// The advice for two checks in one expectation.
pub(super) const APART: &str = "write an expectation for each";

type Read = fn(&Node<'_>) -> Option<Check>;

/// The checks by key; a value expectation has one of them.
const CHECKS: [(&str, Read); 11] = [
    ("eq", |node| node.json().map(Check::Eq)),
    ("ne", |node| node.json().map(Check::Ne)),
    ("gt", |node| node.number().map(Check::Gt)),
    ("ge", |node| node.number().map(Check::Ge)),
    ("lt", |node| node.number().map(Check::Lt)),
    ("le", |node| node.number().map(Check::Le)),
    ("contains", |node| node.json().map(Check::Contains)),
    ("matches", |node| pattern(node).map(Check::Matches)),
    ("schema", |node| schema(node).map(Check::Schema)),
    ("exists", |node| node.flag().map(Check::Exists)),
    ("count", |node| node.integer(0).map(Check::Count)),
];

/// Returns the keys of the checks.
pub(crate) fn names() -> [&'static str; CHECKS.len()] {
    CHECKS.map(|(name, _)| name)
}

/// The checks in one expectation.
pub(super) struct Checks<'a>(Vec<(&'static str, Read, Node<'a>)>);

impl<'a> Checks<'a> {
    pub(super) fn get(table: &mut Table<'a>) -> Self {
        let found = CHECKS
            .into_iter()
            .filter_map(|(name, read)| Some((name, read, table.get(name)?)));
        Self(found.collect())
    }

    /// Returns their positions.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node<'a>> {
        self.0.iter().map(|(_, _, node)| node)
    }

    /// Returns the only check; reports an error if there is none or several.
    pub(super) fn single(&self, table: &Table<'_>) -> Option<Check> {
        let [(first, read, node), others @ ..] = &self.0[..] else {
            let expected = format!("exactly one of {}", names().join(", "));
            return table.missing("eq", &expected);
        };
        for (_, _, node) in others {
            let (other, advice) = (*first, APART);
            node.report(Problem::Together { other, advice });
        }
        read(node).filter(|_| others.is_empty())
    }
}

fn pattern(node: &Node<'_>) -> Option<Regex> {
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
