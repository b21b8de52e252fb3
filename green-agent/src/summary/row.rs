//! One attempt at a trial, as far as figures need it.

use std::collections::BTreeMap;

use crate::{
    problem::{Outcome, ProblemKind},
    record::{TokenCounts, TrialRecord},
};

/// One attempt at a trial. It has none of the results, which may be large.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) scenario: String,
    pub(super) cell: BTreeMap<String, String>,
    pub(super) sample: Option<String>,
    pub(super) trial: u32,
    pub(super) attempt: u32,
    pub(super) outcome: Outcome,
    pub(super) stopped_early: bool,
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) usage: Option<TokenCounts>,
    pub(super) seconds: f64,
}

impl Row {
    pub(super) fn new(record: &TrialRecord) -> Self {
        let mut problems = record.problems.iter();
        Self {
            key: record.key.clone(),
            scenario: record.scenario.clone(),
            cell: record.cell.clone(),
            sample: record.sample.clone(),
            trial: record.trial,
            attempt: record.attempt,
            outcome: record.outcome,
            stopped_early: problems.any(|problem| problem.kind == ProblemKind::StoppedEarly),
            metrics: record.metrics.clone(),
            usage: record.usage.as_ref().map(|usage| TokenCounts {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                total_tokens: usage.total_tokens,
            }),
            seconds: record.seconds,
        }
    }

    /// Returns the value that enters the figure of a metric.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        let measured = self.metrics.get(name).copied();
        self.outcome.counted(name, measured)
    }

    /// Removes the metrics that are not finite numbers and returns a sentence about each.
    pub(super) fn refuse(&mut self) -> Vec<String> {
        let place = self.place();
        let mut refused = Vec::new();
        self.metrics.retain(|name, value| {
            if !value.is_finite() {
                refused.push(format!(
                    "the metric {name:?} of {place} is {value}, which is not a finite number; it is left out"
                ));
            }
            value.is_finite()
        });
        refused
    }

    fn place(&self) -> String {
        let cell = self
            .cell
            .iter()
            .map(|(axis, value)| format!(", {axis} {value}"));
        let cell: String = cell.collect();
        let sample = self.sample.as_ref();
        let sample = sample
            .map(|sample| format!(", sample {sample}"))
            .unwrap_or_default();
        format!("{}{cell}{sample}, trial {}", self.scenario, self.trial)
    }
}
