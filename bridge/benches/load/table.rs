//! Figures of many rounds as a table of medians.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

/// What other servers are compared with: no server that keeps its promise can do more.
const LIMIT: &str = "two-commits";

/// The figures of one server in one round, in the order in which they were measured.
pub(crate) struct Row {
    name: String,
    figures: Vec<(String, f64)>,
}

impl Row {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            figures: Vec::new(),
        }
    }

    pub(crate) fn put(&mut self, what: &str, figure: f64) {
        self.figures.push((what.to_owned(), figure));
    }

    pub(crate) fn json(&self, round: usize) -> Value {
        let figures: BTreeMap<&str, f64> = self
            .figures
            .iter()
            .map(|(what, figure)| (what.as_str(), *figure))
            .collect();
        json!({"round": round, "server": self.name, "figures": figures})
    }
}

/// A line for each figure, a column for each server: the median, and its ratio to the limit's in the same run.
pub(crate) fn of(rows: &[Row]) -> String {
    against(rows, LIMIT)
}

/// The same with ratios to this server's.
pub(crate) fn against(rows: &[Row], limit: &str) -> String {
    // Not every server has all figures.
    let (mut names, mut figures) = (Vec::new(), Vec::new());
    for row in rows {
        note(&mut names, &row.name);
        row.figures
            .iter()
            .for_each(|(what, _)| note(&mut figures, what));
    }
    let mut table = format!("| |{}\n|-|{}\n", cells(&names), "-|".repeat(names.len()));
    for what in figures {
        let medians: Vec<Option<f64>> = names.iter().map(|name| median(rows, name, what)).collect();
        let limit = names
            .iter()
            .position(|name| *name == limit)
            .and_then(|at| medians[at]);
        let shown: Vec<String> = medians.iter().map(|figure| show(*figure, limit)).collect();
        let _ = writeln!(table, "| {what} |{}", cells(&shown));
    }
    table
}

/// A line for each server, a column for each figure: the median.
pub(crate) fn turned(rows: &[Row]) -> String {
    let (mut names, mut figures) = (Vec::new(), Vec::new());
    for row in rows {
        note(&mut names, &row.name);
        row.figures
            .iter()
            .for_each(|(what, _)| note(&mut figures, what));
    }
    let mut table = format!(
        "| |{}\n|-|{}\n",
        cells(&figures),
        "-|".repeat(figures.len())
    );
    for name in names {
        let shown: Vec<String> = figures
            .iter()
            .map(|what| show(median(rows, name, what), None))
            .collect();
        let _ = writeln!(table, "| {name} |{}", cells(&shown));
    }
    table
}

fn note<'n>(names: &mut Vec<&'n str>, name: &'n str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn cells(texts: &[impl AsRef<str>]) -> String {
    texts
        .iter()
        .map(|text| format!(" {} |", text.as_ref()))
        .collect()
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

fn median(rows: &[Row], name: &str, what: &str) -> Option<f64> {
    let rows = rows.iter().filter(|row| row.name == name);
    let figures = rows
        .flat_map(|row| &row.figures)
        .filter(|(known, _)| known == what);
    let mut figures: Vec<f64> = figures.map(|(_, figure)| *figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}
