//! Compares the values of an axis of one run's matrix, such as models or agents.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Comparison, differences};
use crate::{
    record::{RunFolder, TrialRecord},
    summary::{Difference, SummaryBuilder},
};

/// The largest number of values that are compared with each other.
const MOST_VALUES: usize = 16;

/// Two values of an axis side by side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AxisPair {
    /// The value on side `a` of the comparison.
    pub value_a: String,
    /// The value on side `b`.
    pub value_b: String,
    /// The comparison of the trials with these two values.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Two values of an axis, and how each figure differs between their trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisDifference {
    /// The axis.
    pub axis: String,
    /// The value on side `a`.
    pub value_a: String,
    /// The value on side `b`.
    pub value_b: String,
    /// The figures that both have; the pass rate first.
    pub differences: Vec<Difference>,
}

/// The reason why an axis cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum AxisError {
    /// No trial of the run has the axis.
    #[error("the run has no axis {axis:?}; {}", known_axes(known))]
    NoSuchAxis { axis: String, known: BTreeSet<String> },
    /// The axis has too few or too many values to compare.
    #[error("expected 2 to {MOST_VALUES} values of the axis {axis:?}, found {found}")]
    Values { axis: String, found: usize },
}

fn known_axes(known: &BTreeSet<String>) -> String {
    match known.is_empty() {
        true => "it has no matrix".to_owned(),
        false => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("expected one of: {}", known.join(", "))
        }
    }
}

/// Compares each value of an axis with each value after it. Trials are paired by scenario, sample and the other axes;
/// without a dataset, by the number of the trial, which has the same seed for each value.
///
/// # Errors
/// If the run has no such axis, or the axis has one value or too many.
pub fn by_axis(
    run: &RunFolder,
    axis: &str,
    transcripts: usize,
    bootstrap: Option<u64>,
) -> Result<Vec<AxisPair>, AxisError> {
    let axes = axes(&run.records);
    let Some(values) = axes.get(axis) else {
        let known = axes.keys().map(|&axis| axis.to_owned()).collect();
        return Err(AxisError::NoSuchAxis { axis: axis.to_owned(), known });
    };
    let found = values.len();
    if !(2..=MOST_VALUES).contains(&found) {
        return Err(AxisError::Values { axis: axis.to_owned(), found });
    }
    let values = Vec::from_iter(values);
    let side = |value: &&&str| RunFolder {
        path: run.path.clone(),
        manifest: run.manifest.clone(),
        records: side(&run.records, axis, value),
        torn: None,
    };
    let sides: Vec<RunFolder> = values.iter().map(side).collect();
    let compared = pairs(sides.len()).map(|(a, b)| AxisPair {
        value_a: (*values[a]).to_owned(),
        value_b: (*values[b]).to_owned(),
        comparison: Comparison::new(&sides[a], &sides[b], transcripts, bootstrap),
    });
    Ok(compared.collect())
}

/// Returns the differences of the figures between the values of each axis, as [`by_axis`] does. Axes that cannot be compared
/// are omitted.
pub fn axis_differences(records: &[TrialRecord], bootstrap: Option<u64>) -> Vec<AxisDifference> {
    let mut axes = axes(records);
    axes.retain(|_, values| (2..=MOST_VALUES).contains(&values.len()));
    let of_axis = |(axis, values): (&str, BTreeSet<&str>)| {
        let side = |value: &&str| SummaryBuilder::of(&side(records, axis, value));
        let sides: Vec<SummaryBuilder> = values.iter().map(side).collect();
        let values = Vec::from_iter(values);
        let compared = pairs(values.len()).map(|(a, b)| AxisDifference {
            axis: axis.to_owned(),
            value_a: values[a].to_owned(),
            value_b: values[b].to_owned(),
            differences: differences(&sides[a], &sides[b], bootstrap),
        });
        compared.collect::<Vec<_>>()
    };
    axes.into_iter().flat_map(of_axis).collect()
}

/// Returns the axes with their values.
fn axes(records: &[TrialRecord]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut axes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (axis, value) in records.iter().flat_map(|record| &record.cell) {
        axes.entry(axis).or_default().insert(value);
    }
    axes
}

/// Returns all pairs of different indexes.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

/// Returns the trials with a value of the axis, without the axis itself.
fn side(records: &[TrialRecord], axis: &str, value: &str) -> Vec<TrialRecord> {
    let of_it =
        records.iter().filter(|record| record.cell.get(axis).is_some_and(|one| one == value));
    let without = |record: &TrialRecord| {
        let mut record = record.clone();
        record.cell.remove(axis);
        record
    };
    of_it.map(without).collect()
}
