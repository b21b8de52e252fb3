//! Decisions from figures: whether a scenario's gates are met, and whether it needs no more trials.

pub mod baseline;
mod beforehand;
mod stopper;

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    beforehand::{GateMistake, mistakes, not_kept},
    stopper::Stopper,
};
use crate::{
    record::{RecordError, RunFolder, read_whole_records},
    statistics::{Estimate, Method, counted, number, pass::PassAtK},
    summary::{Difference, Figures, ScenarioSummary, SummaryBuilder},
};
use green_agent_scenario::gate::{Comparison, Condition, Gates, RegressionGate, written_k};

/// The result of one condition of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateResult {
    /// The cell of the matrix; empty without one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cell: BTreeMap<String, String>,
    /// The figure: `pass_rate`, `pass@K`, `pass^K`, or the name of a metric.
    pub figure: String,
    /// Whether the condition holds.
    pub met: bool,
    /// The value that was measured; for a regression, the drop or rise.
    pub measured: Option<f64>,
    /// The lower bound of its interval.
    pub lower: Option<f64>,
    /// The upper bound of its interval.
    pub upper: Option<f64>,
    /// The number of trials; for `pass@K` and `pass^K`, of samples with at least K trials; for a regression, of pairs.
    pub n: usize,
    /// The condition, in the same words in every run.
    pub demand: String,
    /// The condition, the measured value, its interval and n.
    pub message: String,
}

/// Checks the gates of a scenario, whose file is at `path`. `run` has the records of its trials, `summary` the figures
/// of these records.
///
/// # Errors
/// If the earlier run cannot be read.
pub fn check(
    gates: &Gates,
    path: &Path,
    run: &SummaryBuilder,
    summary: &ScenarioSummary,
) -> Result<Vec<GateResult>, RecordError> {
    let mut results = Vec::new();
    for (cell, figures) in summary.by_cell() {
        for gate in &gates.figures {
            let measured = measure(&gate.figure, figures);
            let conditions = gate.conditions.iter();
            results.extend(conditions.map(|one| result(&gate.figure, *one, cell, &measured)));
        }
    }
    if let Some(gate) = &gates.regress {
        let (earlier, torn) = earlier(&against(gate, path), &summary.scenario)?;
        let left_out = torn.map_or_else(String::new, |line| {
            format!("; line {line} of the earlier records is incomplete and was left out")
        });
        let mut checked = check_regressions(gate, &earlier, run);
        checked.iter_mut().for_each(|result| result.message += &left_out);
        results.extend(checked);
    }
    Ok(results)
}

/// Checks each cell that both runs have: a drop in one must not disappear among the others.
fn check_regressions(
    gate: &RegressionGate,
    earlier: &SummaryBuilder,
    run: &SummaryBuilder,
) -> Vec<GateResult> {
    let cells = run.differences_by_cell(earlier, &gate.figure, None);
    let checked = cells.iter();
    let mut results: Vec<GateResult> =
        checked.map(|((_, cell), difference)| check_regression(gate, cell, difference)).collect();
    if results.is_empty() {
        let none = run.difference(earlier, &gate.figure, None);
        results.push(check_regression(gate, &BTreeMap::new(), &none));
    }
    if let changed @ 1.. = earlier.changed_samples(run).len() {
        for result in &mut results {
            result.message += &format!(
                "; rows of the dataset that changed or moved since: {changed}. A row without an id is named by its number: give each an id, \
                 or accept another baseline"
            );
        }
    }
    results
}

/// Returns the path of the earlier run of a scenario whose file is at `scenario`.
fn against(gate: &RegressionGate, scenario: &Path) -> PathBuf {
    let folder = scenario.parent().unwrap_or(Path::new(""));
    let path = folder.join(&gate.against);
    std::path::absolute(&path).unwrap_or(path)
}

/// Reads the records of a scenario from a run's folder or from a file. Returns them with the number of an incomplete last line,
/// which a folder has if its run was killed.
fn earlier(path: &Path, scenario: &str) -> Result<(SummaryBuilder, Option<usize>), RecordError> {
    let (records, torn) = match path.is_dir() {
        true => RunFolder::read(path).map(|run| (run.records, run.torn))?,
        false => (read_whole_records(path)?, None),
    };
    let records = records.iter().filter(|record| record.scenario == scenario);
    Ok((SummaryBuilder::of(records), torn))
}

/// Returns the value of a figure, if it has one. pass@k and pass^k have no interval.
fn measure(figure: &str, figures: &Figures) -> Estimate {
    let at = |k: &str, share: fn(&PassAtK) -> f64| {
        let k: Option<usize> = k.parse().ok();
        let at = figures.pass_at_k.iter().find(|at| Some(at.k) == k);
        let n = at.map_or(0, |at| at.samples);
        Estimate { mean: at.map(share), n, ..Estimate::nothing(Method::default()) }
    };
    if let Some(k) = figure.strip_prefix("pass@") {
        return at(k, |at| at.any);
    }
    if let Some(k) = figure.strip_prefix("pass^") {
        return at(k, |at| at.all);
    }
    figures.named(figure).cloned().unwrap_or_else(|| Estimate::nothing(Method::default()))
}

fn result(
    figure: &str,
    condition: Condition,
    cell: &BTreeMap<String, String>,
    measured: &Estimate,
) -> GateResult {
    let number = condition.number;
    let holds = |value: Option<f64>, holds: fn(Ordering) -> bool| {
        value.is_some_and(|value| compare(value, number, number.abs()).is_some_and(holds))
    };
    let met = match condition.comparison {
        Comparison::Ge => holds(measured.mean, Ordering::is_ge),
        Comparison::Gt => holds(measured.mean, Ordering::is_gt),
        Comparison::Le => holds(measured.mean, Ordering::is_le),
        Comparison::Lt => holds(measured.mean, Ordering::is_lt),
        Comparison::Lower => holds(measured.lower, Ordering::is_ge),
        Comparison::Upper => holds(measured.upper, Ordering::is_le),
    };
    let place = place(cell);
    let noun = if written_k(figure).is_some() { "sample" } else { "trial" };
    GateResult {
        cell: cell.clone(),
        figure: figure.to_owned(),
        met,
        measured: measured.mean,
        lower: measured.lower,
        upper: measured.upper,
        n: measured.n,
        demand: format!("{figure}{place}: {condition}"),
        message: format!(
            "{figure}{place}: wanted {condition}, {}",
            describe(measured, number, noun, "")
        ),
    }
}

/// Compares a figure with a number. They are equal if they differ only in the last digits of numbers of this size: the mean of
/// 0.6, 0.7 and 0.8 depends on their order.
fn compare(figure: f64, number: f64, size: f64) -> Option<Ordering> {
    match (figure - number).abs() <= 1e-12 * size {
        true => Some(Ordering::Equal),
        false => figure.partial_cmp(&number),
    }
}

/// Names a cell in a sentence; empty without a matrix.
fn place(cell: &BTreeMap<String, String>) -> String {
    let place: Vec<String> = cell.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
    if place.is_empty() { String::new() } else { format!(" in {}", place.join(", ")) }
}

/// `difference` is the earlier value less this one.
fn check_regression(
    gate: &RegressionGate,
    cell: &BTreeMap<String, String>,
    difference: &Difference,
) -> GateResult {
    let (figure, place) = (&gate.figure, place(cell));
    let mut measured = Estimate { n: difference.pairs, ..difference.difference.clone() };
    let (change, most) = match gate.max_rise {
        None => ("drop", gate.max_drop),
        Some(most) => {
            let negated = |bound: Option<f64>| bound.map(|bound| 0.0 - bound);
            measured.mean = negated(measured.mean);
            (measured.lower, measured.upper) = (negated(measured.upper), negated(measured.lower));
            ("rise", most)
        }
    };
    let values = match (difference.b, difference.a) {
        (Some(before), Some(now)) => format!(" (from {} to {})", number(before), number(now)),
        _ => String::new(),
    };
    let size = difference.b.unwrap_or_default().abs().max(most);
    let against = gate.against.display();
    GateResult {
        cell: cell.clone(),
        figure: figure.clone(),
        met: measured.mean.is_some_and(|it| compare(it, most, size).is_some_and(Ordering::is_le)),
        measured: measured.mean,
        lower: measured.lower,
        upper: measured.upper,
        n: measured.n,
        demand: format!("{change} of {figure}{place} against {against}: at most {most}"),
        message: format!(
            "{change} of {figure}{place} against {against}{values}: wanted at most {most}, {}",
            describe(&measured, most, "pair", " of the same sample or trial"),
        ),
    }
}

/// Says what was measured, of how many of which things. A value that is rounded to `wanted` but differs from it has all digits.
fn describe(measured: &Estimate, wanted: f64, noun: &str, which: &str) -> String {
    let number = |value: f64| {
        let is_equal = compare(value, wanted, wanted.abs()) == Some(Ordering::Equal);
        if !is_equal && number(value) == number(wanted) { value.to_string() } else { number(value) }
    };
    let Some(value) = measured.mean else {
        return "but nothing was measured".to_owned();
    };
    let interval = match (measured.lower, measured.upper) {
        (Some(lower), Some(upper)) => {
            format!("95 % interval {} to {}", number(lower), number(upper))
        }
        _ => "no interval".to_owned(),
    };
    let of = counted(measured.n, noun);
    format!("measured {} ({interval}, {of}{which})", number(value))
}

#[cfg(test)]
mod tests;
