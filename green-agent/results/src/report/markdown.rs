//! A comment for a pull request: the figures as a table, with the failures folded below it.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _};

use bridge_program::Exit;

use super::{
    source::{Decision, Group, ReportSource, cell_name},
    text::{interval, percent},
};
use crate::{problem::Outcome, record::TrialRecord, run::Failure, statistics::counted};

/// The most bytes of the comment; GitHub takes 65,536 characters.
const MOST: usize = 60_000;

/// The most characters of one failure's message.
const MOST_OF_ONE: usize = 4_000;

/// The most trials that are named of those that failed like another one.
const OTHERS: usize = 20;

/// The most metrics in the table.
const METRICS: usize = 4;

/// Returns the comment.
pub(super) fn of(run: &ReportSource) -> String {
    let decisions = run.decisions();
    let mut text = headline(run, &decisions);
    text += &table(run);
    let mut more = 0;
    for alike in failures(run, &decisions) {
        let shown = failure(&alike);
        match more == 0 && text.len() + shown.len() <= MOST {
            true => text += &shown,
            false => more += alike.len(),
        }
    }
    if more > 0 {
        let _ = writeln!(text, "\n… and {more} more that did not pass.");
    }
    text
}

/// Returns the trials of each scenario that failed alike. Trials that were not needed, or had to fail as they did, did not
/// fail.
fn failures<'r>(run: &'r ReportSource, decisions: &[Decision]) -> Vec<Vec<&'r TrialRecord>> {
    let as_expected =
        |scenario: &str| Decision::of_sidecar(decisions, scenario).is_some_and(|one| one.met);
    let mut groups: Vec<Vec<&TrialRecord>> = Vec::new();
    let mut places = BTreeMap::new();
    for record in run.counted() {
        if record.exit == Exit::Passed || as_expected(&record.scenario) {
            continue;
        }
        let failure = Failure::of(&record.cell, &record.problems);
        let key = (&record.scenario, record.outcome, failure);
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(alike) => alike.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

fn headline(run: &ReportSource, decisions: &[Decision]) -> String {
    let all = &run.all;
    let rate = &all.figures.pass_rate;
    let share = rate.mean.map(|mean| match interval(rate).as_str() {
        "" => format!(" ({})", percent(mean)),
        range => format!(" ({}, 95 % interval {range})", percent(mean)),
    });
    let mut text = format!("### {} trials passed{}\n\n", all.passed(), share.unwrap_or_default());
    let not_needed = all.figures.stopped_early;
    let others = all.figures.trials - rate.n - not_needed;
    for (count, what) in [
        (not_needed, "were not needed."),
        (others, "ended without fault of the agent and count in no rate."),
    ] {
        if count > 0 {
            let _ = writeln!(text, "{count} {what}\n");
        }
    }
    let lines = lines(run, decisions);
    let mut more = 0;
    for line in &lines {
        match more == 0 && text.len() + line.len() <= MOST / 4 {
            true => text += line,
            false => more += 1,
        }
    }
    if more > 0 {
        let _ = writeln!(text, "- … and {more} more.");
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns a line for each decision and each note. Decisions that are not met come first, so that they are not left out.
fn lines(run: &ReportSource, decisions: &[Decision]) -> Vec<String> {
    let unmet = decisions.iter().filter(|one| !one.met);
    let unmet = unmet.map(|one| format!("- **{}**\n", code(&one.sentence())));
    let met = decisions.iter().filter(|one| one.met);
    let met = met.map(|one| format!("- {}\n", code(&one.sentence())));
    let notes = run.notes();
    let notes = notes.iter().map(|note| format!("- note: {}\n", code(note)));
    unmet.chain(met).chain(notes).collect()
}

fn table(run: &ReportSource) -> String {
    let metrics: Vec<&str> = run.all.metrics().into_keys().take(METRICS).collect();
    let repeated = run.groups.iter().any(|group| group.pass.is_some());
    let mut text = "| scenario | passed | pass rate | 95 % interval |".to_owned();
    text += if repeated { " pass@k | pass^k | outcomes |" } else { " outcomes |" };
    for name in &metrics {
        let _ = write!(text, " {} |", cell(name));
    }
    text += if repeated { "\n|-|-:|-:|-|-:|-:|-|" } else { "\n|-|-:|-:|-|-|" };
    text += &"-:|".repeat(metrics.len());
    text.push('\n');
    for group in &run.groups {
        if text.len() > MOST / 2 {
            let _ = writeln!(text, "\n… and more scenarios.");
            break;
        }
        text += &row(group, &metrics, repeated);
    }
    text
}

fn row(group: &Group, metrics: &[&str], repeated: bool) -> String {
    let rate = &group.figures.pass_rate;
    let pass = group.pass();
    let cells = [
        cell(&group.name()),
        group.passed(),
        rate.mean.map(percent).unwrap_or_default(),
        interval(rate),
    ];
    let pass = pass.into_iter().filter(|_| repeated);
    let cells: Vec<String> = cells.into_iter().chain(pass).chain([group.outcomes()]).collect();
    let mut text = format!("| {} |", cells.join(" | "));
    for name in metrics {
        let mean = group.figures.metrics.get(*name).and_then(|estimate| estimate.mean);
        let mean = mean.map(|mean| format!("{mean:.3}"));
        let _ = write!(text, " {} |", mean.unwrap_or_default());
    }
    text.push('\n');
    text
}

/// Returns the name of a trial in its scenario.
fn place(record: &TrialRecord) -> String {
    let sample = record.sample.clone().unwrap_or_default();
    let trial = format!("trial {}", record.trial);
    let parts = [cell_name(&record.cell), sample, trial];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Returns which others failed like the first one.
fn others(others: &[&TrialRecord]) -> String {
    let named = others.iter().take(OTHERS).map(|record| code(&place(record)));
    let mut text = named.collect::<Vec<_>>().join("; ");
    if others.len() > OTHERS {
        let _ = write!(text, "; and {} more", others.len() - OTHERS);
    }
    match others {
        [] => String::new(),
        _ => format!("Alike: {text}\n\n"),
    }
}

fn failure(alike: &[&TrialRecord]) -> String {
    let [record, more @ ..] = alike else {
        return String::new();
    };
    let mut title = format!("{}, {}", record.scenario, place(record));
    if !more.is_empty() {
        title += &format!(" and {}", counted(more.len(), "other"));
    }
    let messages: Vec<String> = record.problems.iter().map(ToString::to_string).collect();
    let message: String = messages
        .join("\n")
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .take(MOST_OF_ONE)
        .collect();
    let fence = "`".repeat(longest_run(&message).max(2) + 1);
    format!(
        "\n<details><summary>{}: {}</summary>\n\n{fence}text\n{message}\n{fence}\n\n{}</details>\n",
        escaped(&title),
        what(record),
        others(more)
    )
}

/// Returns the outcome; of a trial that passed, the problem that is not the agent's fault.
fn what(record: &TrialRecord) -> Cow<'static, str> {
    match (record.outcome, record.problems.first()) {
        (Outcome::Passed, Some(problem)) => problem.title(),
        (outcome, _) => outcome.title().into(),
    }
}

/// Returns a text as code in a cell of a table, where a bar needs a backslash. Elsewhere the backslash would be shown.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Returns a text as code on one line, so that names are not interpreted as markup or mentions.
fn code(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let ticks = "`".repeat(longest_run(&line) + 1);
    let edge = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{edge}{line}{edge}{ticks}")
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
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}
