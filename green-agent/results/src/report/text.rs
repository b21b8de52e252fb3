//! The figures of a run as a table of text.

use std::{fmt::Write as _, io};

use bridge_program::terminal::line;
use serde::Serialize;

use super::source::{Group, ReportSource};
use crate::statistics::Estimate;

/// The columns, and whether their values are aligned to the right.
const COLUMNS: [(&str, bool); 7] = [
    ("scenario", false),
    ("passed", true),
    ("rate", true),
    ("95 % interval", false),
    ("pass@k", true),
    ("pass^k", true),
    ("outcomes", false),
];

type Row = [String; COLUMNS.len()];

/// Returns the table: a line for each scenario and cell, and one for all of them.
pub(super) fn of(run: &ReportSource) -> String {
    let mut rows: Vec<Row> = run.groups.iter().map(row).collect();
    if run.groups.len() > 1 {
        rows.push(row(&Group { scenario: "all".to_owned(), ..run.all.clone() }));
    }
    let mut text = match rows.is_empty() {
        true => "no trial has ended\n".to_owned(),
        false => table(&rows),
    };
    let retried = run.folder.records.len() - run.counted;
    if retried > 0 {
        let _ = writeln!(text, "\nattempts that were repeated and are not counted: {retried}");
    }
    let decisions = run.decisions();
    if !decisions.is_empty() {
        text.push('\n');
    }
    for decision in decisions {
        let _ = writeln!(text, "{}", line(&decision.sentence()));
    }
    text
}

fn row(group: &Group) -> Row {
    let rate = &group.figures.pass_rate;
    let [any, all] = group.pass();
    [
        line(&group.name()).into_owned(),
        group.passed(),
        rate.mean.map(percent).unwrap_or_default(),
        interval(rate),
        any,
        all,
        group.outcomes(),
    ]
}

/// Returns the name of an outcome, a kind of problem or an owner in JSON; empty for `None`.
pub(super) fn name_of(value: impl Serialize) -> String {
    let name = serde_json::to_value(value).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

/// Returns a value as JSON on several lines.
pub(super) fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns the interval of a rate; empty if there is none.
pub(super) fn interval(rate: &Estimate) -> String {
    match (rate.lower, rate.upper) {
        (Some(lower), Some(upper)) => format!("{} to {}", percent(lower), percent(upper)),
        _ => String::new(),
    }
}

/// Returns the table without the columns that have no values.
fn table(rows: &[Row]) -> String {
    let values = |at: usize| rows.iter().map(move |row| row[at].as_str());
    let has_values = |at: &usize| values(*at).any(|value| !value.is_empty());
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(has_values).collect();
    let widest = |at: usize| {
        let all = values(at).chain([COLUMNS[at].0]);
        all.map(|value| value.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = shown.iter().map(|at| widest(*at)).collect();
    let head = COLUMNS.map(|(name, _)| name.to_owned());
    let mut text = String::new();
    for row in [&head].into_iter().chain(rows) {
        let cells = shown.iter().zip(&widths).map(|(at, width)| match COLUMNS[*at].1 {
            true => format!("{:>width$}", row[*at]),
            false => format!("{:<width$}", row[*at]),
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}
