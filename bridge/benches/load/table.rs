//! Prints figures of several rounds as a table of medians.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

/// The server that the others are compared with; no server with the same guarantees can be faster.
const LIMIT: &str = "two-commits";

/// The figures of one server in one round, in the order in which they were measured.
pub(crate) struct Row {
    name: String,
    figures: Vec<(String, f64)>,
}

impl Row {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), figures: Vec::new() }
    }

    pub(crate) fn put(&mut self, label: &str, figure: f64) {
        self.figures.push((label.to_owned(), figure));
    }

    pub(crate) fn json(&self, round: usize) -> Value {
        let figures: BTreeMap<&str, f64> =
            self.figures.iter().map(|(label, figure)| (label.as_str(), *figure)).collect();
        json!({"round": round, "server": self.name, "figures": figures})
    }
}

/// Returns a table with a line for each figure and a column for each server: the median, and its ratio to the limit.
pub(crate) fn with_ratios_to_limit(rows: &[Row]) -> String {
    with_ratios_to(rows, LIMIT)
}

/// Returns the same table with ratios to this server.
pub(crate) fn with_ratios_to(rows: &[Row], limit: &str) -> String {
    // Not every server has all figures.
    let (mut names, mut figures) = (Vec::new(), Vec::new());
    for row in rows {
        push_new(&mut names, &row.name);
        row.figures.iter().for_each(|(label, _)| push_new(&mut figures, label));
    }
    let mut table = format!("| |{}\n|-|{}\n", cells(&names), "-|".repeat(names.len()));
    for label in figures {
        let medians: Vec<Option<f64>> =
            names.iter().map(|name| median(rows, name, label)).collect();
        let limit = names.iter().position(|name| *name == limit).and_then(|at| medians[at]);
        let shown: Vec<String> = medians.iter().map(|figure| show(*figure, limit)).collect();
        let _ = writeln!(table, "| {label} |{}", cells(&shown));
    }
    table
}

/// Returns a table with a line for each server and a column for each figure: the median.
pub(crate) fn transposed(rows: &[Row]) -> String {
    let (mut names, mut figures) = (Vec::new(), Vec::new());
    for row in rows {
        push_new(&mut names, &row.name);
        row.figures.iter().for_each(|(label, _)| push_new(&mut figures, label));
    }
    let mut table = format!("| |{}\n|-|{}\n", cells(&figures), "-|".repeat(figures.len()));
    for name in names {
        let shown: Vec<String> =
            figures.iter().map(|label| show(median(rows, name, label), None)).collect();
        let _ = writeln!(table, "| {name} |{}", cells(&shown));
    }
    table
}

fn push_new<'n>(names: &mut Vec<&'n str>, name: &'n str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn cells(texts: &[impl AsRef<str>]) -> String {
    texts.iter().map(|text| format!(" {} |", text.as_ref())).collect()
}

fn show(figure: Option<f64>, limit: Option<f64>) -> String {
    let Some(figure) = figure else {
        return "-".to_owned();
    };
    let digits = if figure.abs() < 100.0 { 2 } else { 0 };
    match limit {
        Some(limit) if limit > 0.0 => format!("{figure:.digits$} ({:.2})", figure / limit),
        Some(_) | None => format!("{figure:.digits$}"),
    }
}

fn median(rows: &[Row], name: &str, label: &str) -> Option<f64> {
    let rows = rows.iter().filter(|row| row.name == name);
    let figures = rows.flat_map(|row| &row.figures).filter(|(known, _)| known == label);
    let mut figures: Vec<f64> = figures.map(|(_, figure)| *figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}
