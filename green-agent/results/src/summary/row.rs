//! One attempt at a trial, with the fields that figures need.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::SECONDS;
use crate::{
    assessment::COMPLETED,
    problem::{Outcome, ProblemKind},
    record::{TokenCounts, TrialRecord},
};

/// The metric of the reported tokens, unless an evaluator has a metric of this name.
const TOTAL_TOKENS: &str = "total_tokens";

/// One attempt at a trial. It has no results, which may be large, and shares names with other rows, because memory
/// grows with the number of rows.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: Arc<str>,
    pub(super) scenario: Arc<str>,
    pub(super) cell: Arc<BTreeMap<String, String>>,
    pub(super) sample: Option<Arc<str>>,
    pub(super) trial: u32,
    pub(super) attempt: u32,
    pub(super) outcome: Outcome,
    pub(super) stopped_early: bool,
    pub(super) was_tried: bool,
    /// Whether the evaluation has completed.
    completed: bool,
    /// The metrics that are finite numbers, by name, and the tokens, if they were told.
    pub(super) metrics: Box<[(Arc<str>, f64)]>,
    pub(super) usage: Option<Box<TokenCounts>>,
    pub(super) seconds: f64,
    /// The duration of the evaluation in seconds, without the start and the end of the agents.
    evaluating: Option<f32>,
}

/// The names that many rows have in common, each stored once.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedNames {
    texts: BTreeSet<Arc<str>>,
    cells: BTreeSet<Arc<BTreeMap<String, String>>>,
}

impl SharedNames {
    fn text(&mut self, text: &str) -> Arc<str> {
        shared(&mut self.texts, text)
    }
}

fn shared<T>(known: &mut BTreeSet<Arc<T>>, value: &T) -> Arc<T>
where
    T: Ord + ToOwned + ?Sized,
    Arc<T>: From<T::Owned>,
{
    known.get(value).cloned().unwrap_or_else(|| {
        let new = Arc::from(value.to_owned());
        known.insert(Arc::clone(&new));
        new
    })
}

impl Row {
    pub(super) fn new(record: &TrialRecord, names: &mut SharedNames) -> Self {
        let mut problems = record.problems.iter();
        let finite = record.metrics.iter().filter(|(_, value)| value.is_finite());
        let mut metrics: Vec<_> = finite.map(|(name, value)| (names.text(name), *value)).collect();
        let tokens = record.usage.as_ref().map(|usage| usage.all.total_tokens as f64);
        let tokens = tokens.filter(|_| !record.metrics.contains_key(TOTAL_TOKENS));
        metrics.extend(tokens.map(|tokens| (names.text(TOTAL_TOKENS), tokens)));
        Self {
            metrics: metrics.into(),
            key: record.key.as_str().into(),
            scenario: names.text(&record.scenario),
            cell: shared(&mut names.cells, &record.cell),
            sample: record.sample.as_ref().map(|sample| names.text(sample)),
            trial: record.trial,
            attempt: record.attempt,
            outcome: record.outcome,
            stopped_early: problems.any(|problem| problem.kind == ProblemKind::StoppedEarly),
            was_tried: record.was_tried(),
            completed: record.state.as_deref() == Some(COMPLETED),
            usage: record.usage.as_ref().map(|usage| Box::new(usage.all)),
            seconds: record.seconds,
            evaluating: record.phases.get("evaluating").map(|seconds| *seconds as f32),
        }
    }

    /// Returns the value that enters the figure of a metric.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        let mut metrics = self.metrics.iter();
        let measured = metrics.find(|(of, _)| **of == *name);
        let measured = measured.map(|(_, value)| *value);
        let time = || self.evaluating.map(f64::from).filter(|_| name == SECONDS);
        let measured = measured.or_else(time);
        self.outcome.counted(name, measured, self.completed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn rows_share_what_they_have_in_common() {
        let mut names = SharedNames::default();
        let record = |key: &str| TrialRecord {
            cell: BTreeMap::from([("model".to_owned(), "small".to_owned())]),
            sample: Some("q-1".to_owned()),
            ..record(key, 1)
        };
        let rows = ["a", "b"].map(|key| Row::new(&record(key), &mut names));
        assert!(Arc::ptr_eq(&rows[0].scenario, &rows[1].scenario));
        assert!(Arc::ptr_eq(&rows[0].cell, &rows[1].cell));
        let of = |row: &Row| (row.sample.clone().unwrap(), row.metrics[0].0.clone());
        let (one, other) = (of(&rows[0]), of(&rows[1]));
        assert!(Arc::ptr_eq(&one.0, &other.0) && Arc::ptr_eq(&one.1, &other.1));
        assert!(size_of::<Row>() <= 120, "{}", size_of::<Row>());
    }
}
