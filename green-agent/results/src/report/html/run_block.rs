//! The block that the page reads first: all trials in columns, and the figures of scenarios and cells.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    comparison::axis_differences,
    record::TrialRecord,
    report::source::{Decision, Group, ReportSource, cell_name},
    run::common_text,
};

/// The most characters of a problem in the table; the trial's own block has all of it.
const PROBLEM: usize = 400;

/// Returns a metric of a trial as it counts in the means; as it was measured if the trial does not count.
fn metric(record: &TrialRecord, name: &str) -> Option<f64> {
    let measured = record.metrics.get(name).copied();
    let completed = record.state.as_deref() == Some("completed");
    match record.outcome.is_scored() {
        true => record.outcome.counted(name, measured, completed),
        false => measured,
    }
}

/// Returns the table of a run. `blocks` has the name of each record's blocks in the page.
pub(super) fn of(
    run: &ReportSource,
    blocks: &[Option<String>],
    comparison: Option<&Value>,
) -> Value {
    let mut scenarios = Names::default();
    let mut cells = Names::default();
    // The cell of those without a matrix is always the first.
    cells.number("");
    let groups = run.groups.iter().map(|group| {
        let mut shown = group_json(group);
        shown["scenario"] = scenarios.number(&group.scenario).into();
        shown["cell"] = cells.number(&group.cell).into();
        shown
    });
    let groups: Vec<Value> = groups.collect();
    let records = &run.folder.records;
    let metrics: BTreeSet<&str> =
        records.iter().flat_map(|record| record.metrics.keys()).map(String::as_str).collect();
    let values = |name: &&str| -> Vec<Option<f64>> { column(run, |record| metric(record, name)) };
    let values: Vec<Vec<Option<f64>>> = metrics.iter().map(values).collect();
    let first = |record: &TrialRecord| record.problems.first().cloned();
    let mut kinds = BTreeMap::new();
    let mut kind = |record: &TrialRecord| {
        let problem = record.problems.first()?;
        let next = kinds.len();
        Some(*kinds.entry((problem.owner, common_text(problem))).or_insert(next))
    };
    let trials = json!({
        "key": column(run, |record| record.key.clone()),
        "scenario": column(run, |record| scenarios.number(&record.scenario)),
        "cell": column(run, |record| cells.number(&cell_name(&record.cell))),
        "sample": column(run, |record| record.sample.clone()),
        "trial": column(run, |record| record.trial),
        "attempt": column(run, |record| record.attempt),
        "seed": column(run, |record| record.seed.to_string()),
        "last": (0..records.len()).map(|at| u8::from(at < run.counted)).collect::<Vec<_>>(),
        "outcome": column(run, |record| record.outcome),
        "owner": column(run, |record| first(record).map(|problem| problem.owner)),
        "problem": column(run, |record| first(record).map(|problem| problem.to_string().chars().take(PROBLEM).collect::<String>())),
        "kind": column(run, &mut kind),
        "seconds": column(run, |record| record.seconds),
        "tokens": column(run, |record| record.usage.as_ref().map(|usage| usage.all.total_tokens)),
        "metric": values,
        "block": blocks,
    });
    let manifest = &run.folder.manifest;
    json!({
        "version": 1, "name": run.name, "started": manifest.started, "program": manifest.program,
        "seconds": run.seconds(), "retried": records.len() - run.counted,
        "scenarios": scenarios.0, "cells": cells.0, "metrics": metrics, "groups": groups, "all": group_json(&run.all),
        "trials": trials, "comparison": comparison, "decisions": decisions(run), "notes": run.notes(),
        "axes": axis_differences(run.counted(), run.bootstrap),
    })
}

/// Returns the figures of a group. A rate or a metric that no trial has is absent.
fn group_json(group: &Group) -> Value {
    let figures = &group.figures;
    json!({
        "trials": figures.trials, "counted": figures.pass_rate.n, "not_needed": figures.stopped_early,
        "rate": figures.pass_rate.mean.map(|_| &figures.pass_rate), "pass": group.pass, "metrics": group.metrics(),
        "outcomes": figures.outcomes, "seconds": figures.seconds, "tokens": figures.usage.map(|usage| usage.total_tokens),
    })
}

/// Returns the decisions of gates and about unfinished trials, in sentences.
fn decisions(run: &ReportSource) -> Vec<Value> {
    let decisions = run.decisions().into_iter();
    let told = |one: Decision| json!({"text": one.sentence(), "about": one.about, "met": one.met});
    decisions.map(told).collect()
}

fn column<T>(run: &ReportSource, value: impl FnMut(&TrialRecord) -> T) -> Vec<T> {
    run.folder.records.iter().map(value).collect()
}

/// Names in the order of their first appearance.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn number(&mut self, name: &str) -> usize {
        // Trials of a scenario follow each other, so that its name is found near the end.
        let found = self.0.iter().rposition(|known| known == name);
        found.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }
}
