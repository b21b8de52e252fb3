//! Checks the expectations of a scenario file against a finished run.
//!
//! A value expectation reads a target (`target`), selects values in it (`place`) and applies a check to each
//! of them (`verdict`); `not` negates the check of each value. A missing value fails every check except
//! `exists` and `count`, even with `not`: a typing error in a path must not pass. A value of the wrong type
//! fails with and without `not`. A sequence expectation searches for labels in order (`sequence`).

mod answer;
mod calls;
mod content;
mod likely_score;
mod place;
mod sequence;
mod target;
mod text;
mod verdict;
mod written;

#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use calls::{FailedCalls, failed_calls};
pub use content::{are_rows, results};
pub use likely_score::{LikelyScore, likely_score, places_of_numbers};
pub use place::{measured, number};
pub use written::UnmetExpectation;

use self::{place::Node, verdict::Mismatch};
use crate::assessment::Assessment;
use green_agent_scenario::expectation::{Check, Expectation, Rule, Target, ValuePath};
use green_agent_transcript::Entry;

/// A finished run, against which expectations are checked.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The evaluator's assessment.
    pub assessment: &'a Assessment,
    /// The whole transcript, in order of `seq`.
    pub entries: &'a [Entry],
}

/// Returns the expectations that are not met, in the order of the file.
pub fn check(expectations: &[Expectation], subject: &Subject<'_>) -> Vec<UnmetExpectation> {
    let unmet = |expectation: &Expectation| {
        let miss = judge(expectation, subject).err()?;
        Some(UnmetExpectation {
            line: expectation.line,
            expectation: written::expectation(expectation),
            expected: miss.expected,
            actual: miss.actual,
            at: miss.at,
        })
    };
    expectations.iter().filter_map(unmet).collect()
}

/// The reason why an expectation is not met.
struct UnmetReason {
    expected: String,
    actual: String,
    at: Vec<u64>,
}

fn judge(expectation: &Expectation, subject: &Subject<'_>) -> Result<(), UnmetReason> {
    let not = expectation.not;
    match &expectation.rule {
        Rule::Sequence { labels, hop } => {
            sequence::judge(labels, hop.as_ref(), not, subject.entries)
        }
        Rule::Value { on, path, check } => judge_value(on, path.as_ref(), check, not, subject),
    }
}

fn judge_value(
    on: &Target,
    path: Option<&ValuePath>,
    check: &Check,
    not: bool,
    subject: &Subject<'_>,
) -> Result<(), UnmetReason> {
    let found = target::find(on, subject);
    let (nodes, at) = match &found {
        Ok(found) => (place::select(&found.value, path), found.at.clone()),
        Err(_) => (Vec::new(), Vec::new()),
    };
    let absence = || match &found {
        Ok(found) => place::absence(path, target::noun(on), &found.value),
        Err(absence) => absence.clone(),
    };
    check_values(check, &nodes, path, not, absence).map_err(|actual| UnmetReason {
        expected: written::expected(check, path, not),
        actual,
        at,
    })
}

/// Applies a check to the selected values; the error describes the actual values.
fn check_values(
    check: &Check,
    nodes: &[Node<'_>],
    path: Option<&ValuePath>,
    not: bool,
    absence: impl Fn() -> String,
) -> Result<(), String> {
    match check {
        Check::Exists(wanted) if (nodes.is_empty() != *wanted) != not => Ok(()),
        Check::Exists(_) if nodes.is_empty() => Err(absence()),
        Check::Exists(_) => Err(written::listed(nodes)),
        Check::Count(wanted) => match place::count(nodes, path)? {
            count if (count == *wanted) != not => Ok(()),
            _ if nodes.is_empty() => Err(format!("0: {}", absence())),
            count => Err(format!("{count}: {}", written::listed(nodes))),
        },
        _ if nodes.is_empty() => Err(absence()),
        check => check_each(check, nodes, not),
    }
}

/// Applies a check for single values to each value.
fn check_each(check: &Check, nodes: &[Node<'_>], not: bool) -> Result<(), String> {
    let judge = verdict::prepare(check)?;
    let mut failing = Vec::new();
    let mut remarks = Vec::new();
    for node in nodes {
        let remark = match (judge(node.value), not) {
            (Ok(()), false) | (Err(Mismatch::Fails(_)), true) => continue,
            (Ok(()), true) => None,
            (Err(Mismatch::Fails(remark)), false) => remark,
            (Err(Mismatch::WrongType(remark)), _) => Some(remark.to_owned()),
        };
        failing.push(node.clone());
        // Remarks are about the values that are listed.
        remarks.extend(remark.filter(|_| failing.len() <= written::LISTED));
    }
    remarks.dedup();
    if failing.is_empty() {
        return Ok(());
    }
    remarks.insert(0, written::listed(&failing));
    Err(remarks.join("\n"))
}
