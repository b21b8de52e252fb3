//! The problems that are new or gone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    problem::{Owner, Problem, ProblemKind},
    record::TrialRecord,
};

/// The most characters of a problem's text.
const SHOWN: usize = 160;

/// A problem with the number of trials that have it in two runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProblemChange {
    /// The scenario.
    pub scenario: String,
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The party at fault.
    pub owner: Owner,
    /// The first line of its message, with `#` in place of numbers, because ports and times differ.
    pub message: String,
    /// The number of trials in the first run; 0 if the problem is new.
    pub a: usize,
    /// The number of trials in the second run; 0 if the problem is gone.
    pub b: usize,
}

/// Returns the problems whose number differs.
pub(super) fn changes(a: &[&TrialRecord], b: &[&TrialRecord]) -> Vec<ProblemChange> {
    let mut changes: BTreeMap<(String, &'static str, String), ProblemChange> = BTreeMap::new();
    let mut count = |records: &[&TrialRecord], add: fn(&mut ProblemChange)| {
        for record in records {
            for problem in &record.problems {
                let message = describe(problem);
                let key = (record.scenario.clone(), problem.kind.title(), message.clone());
                let change = changes.entry(key).or_insert_with(|| ProblemChange {
                    scenario: record.scenario.clone(),
                    kind: problem.kind,
                    owner: problem.owner,
                    message,
                    a: 0,
                    b: 0,
                });
                add(change);
            }
        }
    };
    count(a, |change| change.a += 1);
    count(b, |change| change.b += 1);
    let mut changes: Vec<_> = changes.into_values().filter(|change| change.a != change.b).collect();
    changes.sort_by_key(|change| change.a as i64 - change.b as i64);
    changes
}

fn describe(problem: &Problem) -> String {
    let line = problem.message.lines().next().unwrap_or_default();
    let mut text = String::new();
    for c in line.chars().take(SHOWN) {
        match c.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(c),
        }
    }
    text
}
