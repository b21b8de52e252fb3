//! Reads the checks of `[[harness.expect]]`. Expressions are compiled here, so that a wrong one is a mistake
//! in the file and not an error of the run.

use regex::Regex;
use serde_json::Value;

use super::expect::ExpectationKeys;
use crate::{
    error::Problem,
    expectation::Check,
    reader::{Key, Node},
};

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
