//! A table with a row for each attempt of each trial, for spreadsheets and data frames.

use std::{collections::BTreeSet, io};

use super::{source::ReportSource, text::name_of};
use crate::{
    record::{TokenCounts, TrialRecord},
    summary::SECONDS,
};

/// The columns that every table has, before those of cells and metrics.
const COLUMNS: &str = "\
    scenario sample trial attempt counts seed outcome exit problem owner message started seconds \
    input_tokens output_tokens total_tokens key";

/// Returns the table.
pub(super) fn of(run: &ReportSource) -> io::Result<String> {
    let axes: BTreeSet<&String> =
        run.folder.records.iter().flat_map(|record| record.cell.keys()).collect();
    let metrics = run.folder.records.iter().flat_map(|record| record.metrics.keys());
    let metrics: BTreeSet<&str> = metrics.map(String::as_str).chain([SECONDS]).collect();
    let mut table = csv::Writer::from_writer(Vec::new());
    let head = COLUMNS.split(' ').map(str::to_owned);
    let head = head.chain(axes.iter().map(|axis| format!("cell.{axis}")));
    table.write_record(head.chain(metrics.iter().map(|name| format!("metric.{name}"))))?;
    for (at, record) in run.folder.records.iter().enumerate() {
        let cells = axes
            .iter()
            .map(|axis| escape_formula(record.cell.get(*axis).map_or("", String::as_str)));
        let values = metrics
            .iter()
            .map(|name| measured(record, name).as_ref().map(f64::to_string).unwrap_or_default());
        table.write_record(
            columns(record, at < run.counted).into_iter().chain(cells).chain(values),
        )?;
    }
    let bytes = table.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Returns the value of a metric. Gates and comparisons call the time of the evaluation alone `seconds`, which is shorter than
/// that of the trial in the column without a prefix.
fn measured(record: &TrialRecord, name: &str) -> Option<f64> {
    let time = || record.phases.get("evaluating").filter(|_| name == SECONDS);
    record.metrics.get(name).or_else(time).copied()
}

fn columns(record: &TrialRecord, counts: bool) -> [String; 17] {
    let problem = record.problems.first();
    let tokens = |of: fn(&TokenCounts) -> u64| {
        record.usage.as_ref().map(|usage| of(&usage.all).to_string()).unwrap_or_default()
    };
    [
        escape_formula(&record.scenario),
        escape_formula(record.sample.as_deref().unwrap_or_default()),
        record.trial.to_string(),
        record.attempt.to_string(),
        counts.to_string(),
        record.seed.to_string(),
        name_of(record.outcome),
        u8::from(record.exit).to_string(),
        name_of(problem.map(|problem| problem.kind)),
        name_of(problem.map(|problem| problem.owner)),
        escape_formula(problem.map_or("", |problem| &problem.message)),
        record.started.clone(),
        record.seconds.to_string(),
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        tokens(|usage| usage.total_tokens),
        record.key.clone(),
    ]
}

/// Returns a text that spreadsheets do not treat as a formula.
fn escape_formula(text: &str) -> String {
    let text = bridge_program::terminal::lines(text);
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.into_owned(),
    }
}
