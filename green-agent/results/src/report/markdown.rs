//! A comment for a pull request: the figures as a table, what failed folded below it.

use std::fmt::Write as _;

use super::{
    source::{Group, ReportSource, cell_name},
    text::{interval, percent},
};
use crate::{problem::Outcome, record::TrialRecord};

/// The most bytes of the comment; GitHub takes 65,536 characters.
const MOST: usize = 60_000;

/// The most bytes of one failure's message.
const MOST_OF_ONE: usize = 4_000;

/// The most metrics in the table.
const METRICS: usize = 4;

/// Returns the comment.
pub(super) fn of(run: &ReportSource) -> String {
    let mut text = headline(run);
    text += &table(run);
    let failed: Vec<&TrialRecord> = run
        .counted()
        .iter()
        .filter(|record| record.outcome != Outcome::Passed)
        .collect();
    for (at, record) in failed.iter().enumerate() {
        let shown = failure(record);
        if text.len() + shown.len() > MOST {
            let _ = writeln!(
                text,
                "\n… and {} more that did not pass.",
                failed.len() - at
            );
            break;
        }
        text += &shown;
    }
    text
}

fn headline(run: &ReportSource) -> String {
    let all = &run.all;
    let passed = all
        .outcomes
        .get(&Outcome::Passed)
        .copied()
        .unwrap_or_default();
    let rate = all.rate.as_ref().map(|rate| match interval(rate).as_str() {
        "" => format!(" ({})", percent(rate.mean)),
        range => format!(" ({}, 95 % interval {range})", percent(rate.mean)),
    });
    let mut text = format!(
        "### {passed} of {} trials passed{}\n\n",
        all.trials,
        rate.unwrap_or_default()
    );
    let others = all.trials - all.scored;
    if others > 0 {
        let _ = writeln!(
            text,
            "{others} ended by no fault of the agent and count in no rate.\n"
        );
    }
    let decisions = run.decisions();
    for decision in &decisions {
        let sentence = code(&decision.sentence());
        let _ = match decision.met {
            true => writeln!(text, "- {sentence}"),
            false => writeln!(text, "- **{sentence}**"),
        };
    }
    if !decisions.is_empty() {
        text.push('\n');
    }
    text
}

fn table(run: &ReportSource) -> String {
    let metrics: Vec<&String> = run.all.metrics.keys().take(METRICS).collect();
    let mut text = "| scenario | trials | pass rate | 95 % interval | outcomes |".to_owned();
    for name in &metrics {
        let _ = write!(text, " {} |", code(name));
    }
    text += "\n|-|-:|-:|-|-|";
    text += &"-:|".repeat(metrics.len());
    text.push('\n');
    for group in &run.groups {
        if text.len() > MOST / 2 {
            let _ = writeln!(text, "\n… and more scenarios.");
            break;
        }
        text += &row(group, &metrics);
    }
    text
}

fn row(group: &Group, metrics: &[&String]) -> String {
    let outcomes: Vec<String> = group
        .outcomes
        .iter()
        .map(|(outcome, count)| format!("{count} {}", outcome.title()))
        .collect();
    let mut text = format!(
        "| {} | {} | {} | {} | {} |",
        code(&group.name()),
        group.trials,
        group
            .rate
            .map(|rate| percent(rate.mean))
            .unwrap_or_default(),
        group.rate.as_ref().map(interval).unwrap_or_default(),
        outcomes.join(", ")
    );
    for name in metrics {
        let value = group
            .metrics
            .get(*name)
            .map(|figure| format!("{:.3}", figure.mean));
        let _ = write!(text, " {} |", value.unwrap_or_default());
    }
    text.push('\n');
    text
}

fn failure(record: &TrialRecord) -> String {
    let mut title = record.scenario.clone();
    for part in [
        cell_name(&record.cell),
        record.sample.clone().unwrap_or_default(),
    ] {
        if !part.is_empty() {
            title += &format!(", {part}");
        }
    }
    title += &format!(", trial {}", record.trial);
    let messages: Vec<String> = record.problems.iter().map(ToString::to_string).collect();
    let message: String = messages
        .join("\n")
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .take(MOST_OF_ONE)
        .collect();
    let fence = "`".repeat(longest_run(&message).max(2) + 1);
    format!(
        "\n<details><summary>{}: {}</summary>\n\n{fence}text\n{message}\n{fence}\n\n</details>\n",
        escaped(&title),
        record.outcome.title()
    )
}

/// Returns a text as code on one line of a table, so that no name is taken for markup or mentions anybody.
fn code(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let ticks = "`".repeat(longest_run(&line) + 1);
    let edge = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{edge}{}{edge}{ticks}", line.replace('|', "\\|"))
}

/// Returns a text for HTML inside of Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric()
                || " ,.-".contains(c)
                || (!c.is_ascii() && !c.is_control()) =>
            {
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => drop(write!(escaped, "&#{};", u32::from(c))),
        }
    }
    escaped
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default()
}
