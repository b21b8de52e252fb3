//! Compares the values of an axis of one run's matrix, such as models or agents.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Comparison;
use crate::record::{RunFolder, TrialRecord};

/// The largest number of values that are compared with each other.
const MOST_VALUES: usize = 16;

/// Two values of an axis side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisPair {
    /// The value on side `a` of the comparison.
    pub value_a: String,
    /// The value on side `b`.
    pub value_b: String,
    /// The comparison of the trials with these two values.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// The reason why an axis cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// No trial of the run has the axis.
    #[error("the run has no axis {axis:?}; {}", known_axes(known))]
    NoSuchAxis {
        /// The axis.
        axis: String,
        /// The axes of the run.
        known: BTreeSet<String>,
    },
    /// The axis has too few or too many values to compare.
    #[error("expected 2 to {MOST_VALUES} values of the axis {axis:?}, found {found}")]
    Values {
        /// The axis.
        axis: String,
        /// The number of its values.
        found: usize,
    },
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
    let cells = || run.records.iter().map(|record| &record.cell);
    let values: BTreeSet<&String> = cells().filter_map(|cell| cell.get(axis)).collect();
    let values = Vec::from_iter(values);
    let axis_name = || axis.to_owned();
    match values.len() {
        0 => {
            let known = cells().flat_map(|cell| cell.keys().cloned()).collect();
            return Err(AxisError::NoSuchAxis {
                axis: axis_name(),
                known,
            });
        }
        2..=MOST_VALUES => {}
        found => {
            return Err(AxisError::Values {
                axis: axis_name(),
                found,
            });
        }
    }
    let sides: Vec<RunFolder> = values.iter().map(|value| side(run, axis, value)).collect();
    let pairs = (0..sides.len()).flat_map(|a| (a + 1..sides.len()).map(move |b| (a, b)));
    let compared = pairs.map(|(a, b)| AxisPair {
        value_a: values[a].clone(),
        value_b: values[b].clone(),
        comparison: Comparison::new(&sides[a], &sides[b], transcripts, bootstrap),
    });
    Ok(compared.collect())
}

/// Returns the trials with a value of the axis, without the axis itself.
fn side(run: &RunFolder, axis: &str, value: &str) -> RunFolder {
    let of_it = run
        .records
        .iter()
        .filter(|record| record.cell.get(axis).is_some_and(|one| one == value));
    let without = |record: &TrialRecord| {
        let mut record = record.clone();
        record.cell.remove(axis);
        record
    };
    RunFolder {
        path: run.path.clone(),
        manifest: run.manifest.clone(),
        records: of_it.map(without).collect(),
        torn: None,
    }
}
