//! The figures of a run as a table of text.

use std::fmt::Write as _;

use bridge_program::terminal::line;

use super::source::{Figure, Group, ReportSource};

/// Returns the table: a line for each scenario and cell, and one for all of them.
pub(super) fn of(run: &ReportSource) -> String {
    let mut rows =
        vec![["scenario", "passed", "rate", "95 % interval", "outcomes"].map(str::to_owned)];
    rows.extend(run.groups.iter().map(row));
    if run.groups.len() > 1 {
        rows.push(
            Group {
                scenario: "all".to_owned(),
                ..run.all.clone()
            }
            .into_row(),
        );
    }
    let mut text = table(&rows);
    let retried = run.records.len() - run.counted;
    if retried > 0 {
        let _ = writeln!(
            text,
            "\nattempts that were repeated and are not counted: {retried}"
        );
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

impl Group {
    fn into_row(self) -> [String; 5] {
        row(&self)
    }
}

fn row(group: &Group) -> [String; 5] {
    [
        line(&group.name()).into_owned(),
        group.passed(),
        group
            .rate
            .map(|rate| percent(rate.mean))
            .unwrap_or_default(),
        group.rate.as_ref().map(interval).unwrap_or_default(),
        group.outcomes(),
    ]
}

/// Returns a share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns the interval of a rate; empty if there is none.
pub(super) fn interval(rate: &Figure) -> String {
    match (rate.lower, rate.upper) {
        (Some(lower), Some(upper)) => format!("{} to {}", percent(lower), percent(upper)),
        _ => String::new(),
    }
}

fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for [name, passed, rate, interval, outcomes] in rows {
        let [a, b, c, d] = widths;
        let line = format!("{name:<a$}  {passed:>b$}  {rate:>c$}  {interval:<d$}  {outcomes}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
