//! Computes the figures of a group of trials.

use std::collections::{BTreeMap, BTreeSet};

use super::{Figures, Retried, SECONDS, SummaryOptions, row::Row};
use crate::{
    problem::{Outcome, is_worth},
    record::TokenCounts,
    statistics::{self, Estimate, pass, rate},
};

/// A group of trials, in an order that does not depend on their end times.
pub(super) struct Group<'a> {
    pub(super) counted: Vec<&'a Row>,
    pub(super) retried: Vec<&'a Row>,
}

/// The units that are treated as independent.
#[derive(Clone, Copy)]
pub(super) enum Units {
    /// The samples of each scenario; a scenario without a dataset is one sample.
    Samples,
    /// The samples of each scenario; in a scenario without a dataset, each trial is a sample.
    SamplesOrTrials,
}

impl<'a> Group<'a> {
    /// Divides the group by a property of its trials.
    pub(super) fn split<K: Ord>(
        &self,
        property: impl Fn(&'a Row) -> &'a K,
    ) -> BTreeMap<&'a K, Self> {
        let mut parts: BTreeMap<&K, Self> = BTreeMap::new();
        let empty = || Group { counted: Vec::new(), retried: Vec::new() };
        for row in &self.counted {
            let part = parts.entry(property(row)).or_insert_with(empty);
            part.counted.push(row);
        }
        for row in &self.retried {
            let part = parts.entry(property(row)).or_insert_with(empty);
            part.retried.push(row);
        }
        parts
    }

    /// Returns the trials that fulfil a condition.
    pub(super) fn filter(&self, condition: impl Fn(&Row) -> bool) -> Self {
        let keep = |rows: &[&'a Row]| rows.iter().copied().filter(|row| condition(row)).collect();
        Self { counted: keep(&self.counted), retried: keep(&self.retried) }
    }

    pub(super) fn figures(&self, units: Units, options: &SummaryOptions) -> Figures {
        let passed = |row: &Row| {
            let scored = row.outcome.is_scored();
            scored.then_some(row.outcome == Outcome::Passed)
        };
        let samples: BTreeSet<_> =
            self.counted.iter().map(|row| (&row.scenario, &row.sample)).collect();
        let rows = self.counted.iter();
        Figures {
            trials: self.counted.len(),
            samples: samples.len(),
            outcomes: outcomes(&self.counted),
            stopped_early: rows.filter(|row| row.stopped_early).count(),
            pass_rate: rate::estimate(&self.values(|row| unit(row, units), passed)),
            metrics: self.metrics(units, options),
            pass_at_k: pass::at_each_k(&self.values(task, passed)),
            retried: Retried {
                attempts: self.retried.len(),
                outcomes: outcomes(&self.retried),
                seconds: seconds(&self.retried),
            },
            usage: self.usage(),
            seconds: seconds(&self.counted),
            time: self.estimated(SECONDS, units, options),
        }
    }

    fn metrics(&self, units: Units, options: &SummaryOptions) -> BTreeMap<String, Estimate> {
        let scored = self.counted.iter().filter(|row| row.outcome.is_scored());
        let metrics = scored.flat_map(|row| row.metrics.iter());
        let names: BTreeSet<&str> = metrics.map(|(name, _)| &**name).collect();
        let estimate = |name: &str| (name.to_owned(), self.estimated(name, units, options));
        names.into_iter().map(estimate).collect()
    }

    fn estimated(&self, name: &str, units: Units, options: &SummaryOptions) -> Estimate {
        let values = self.values(|row| unit(row, units), |row| row.metric(name));
        estimate(name, &values, options)
    }

    /// Returns the values of the trials, grouped by `key`.
    fn values<K: Ord, V>(
        &self,
        key: impl Fn(&'a Row) -> K,
        value: impl Fn(&Row) -> Option<V>,
    ) -> Vec<Vec<V>> {
        let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
        for row in &self.counted {
            if let Some(value) = value(row) {
                groups.entry(key(row)).or_default().push(value);
            }
        }
        groups.into_values().collect()
    }

    fn usage(&self) -> Option<TokenCounts> {
        let told = self.counted.iter().filter_map(|row| row.usage.as_deref());
        told.copied().reduce(|mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Returns the unit of a trial: its scenario, and the sample or number that distinguishes it.
fn unit(row: &Row, units: Units) -> (&str, Option<&str>, u32) {
    let trial = match (units, &row.sample) {
        (Units::SamplesOrTrials, None) => row.trial,
        (Units::SamplesOrTrials | Units::Samples, _) => 0,
    };
    (&row.scenario, row.sample.as_deref(), trial)
}

/// Returns the task of a trial: pass@k and pass^k are about trials of one task.
fn task(row: &Row) -> (&str, &BTreeMap<String, String>, Option<&str>) {
    (&row.scenario, &row.cell, row.sample.as_deref())
}

/// Estimates a metric. A metric for the quality of the agent's work is a rate if all its values are 0 or 1.
fn estimate(name: &str, values: &[Vec<f64>], options: &SummaryOptions) -> Estimate {
    let is_rate = || values.iter().flatten().all(|value| matches!(*value, 0.0 | 1.0));
    if is_worth(name) && is_rate() {
        return rate::of_zeros_and_ones(values);
    }
    statistics::estimate(values, options.bootstrap)
}

fn outcomes(rows: &[&Row]) -> BTreeMap<Outcome, usize> {
    let mut outcomes = BTreeMap::new();
    for row in rows {
        *outcomes.entry(row.outcome).or_default() += 1;
    }
    outcomes
}

fn seconds(rows: &[&Row]) -> f64 {
    // The sum of no numbers would be -0.
    rows.iter().fold(0.0, |sum, row| sum + row.seconds)
}
