//! Compares two runs sample by sample.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{PASS_RATE, SummaryBuilder, row::Row};
use crate::{
    problem::Outcome,
    statistics::{self, Estimate, compare, mean},
};

/// The p-value below which differences are not chance, as those outside an interval of 95 %.
const SIGNIFICANT: f64 = 0.05;

/// A task that was tried in both runs: a cell and a sample of a scenario; without a dataset, a trial's number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Task {
    /// The scenario.
    pub scenario: String,
    /// The cell of its matrix.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cell: BTreeMap<String, String>,
    /// The sample of its dataset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// The number of the trial, if there is no dataset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
}

/// The values of a task in two runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// The mean over its trials in the first run.
    pub a: f64,
    /// The mean over its trials in the second run.
    pub b: f64,
}

/// The difference of a figure between two runs, over the tasks that both have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// `pass_rate` or the name of a metric.
    pub figure: String,
    /// The number of tasks that both runs have.
    pub pairs: usize,
    /// The mean over these tasks in the first run; `null` without any.
    pub a: Option<f64>,
    /// The mean over these tasks in the second run.
    pub b: Option<f64>,
    /// The second mean minus the first, with its interval.
    pub difference: Estimate,
    /// The number of tasks with a greater value in the second run.
    pub greater: usize,
    /// The number of tasks with a smaller value in the second run.
    pub smaller: usize,
    /// The p-value of the exact sign test on these two numbers.
    pub p_value: f64,
    /// Whether the difference is unlikely to be chance: its interval excludes 0. The interval of differences that are all the same
    /// has no width, however few they are, so that the sign test decides about these.
    pub certain: bool,
    /// The number of tasks that only the first run has.
    pub only_a: usize,
    /// The number of tasks that only the second run has.
    pub only_b: usize,
}

impl SummaryBuilder {
    /// Returns the difference of a figure between this run and a later one; `bootstrap` is the seed of a bootstrap
    /// interval.
    pub fn difference(&self, later: &Self, figure: &str, bootstrap: Option<u64>) -> Difference {
        let (a, b) = (self.by_task(figure), later.by_task(figure));
        difference(&a, &b, figure, bootstrap)
    }

    /// Returns the differences for each scenario and cell of which both runs have tasks.
    pub fn differences_by_cell(
        &self,
        later: &Self,
        figure: &str,
        bootstrap: Option<u64>,
    ) -> BTreeMap<ScenarioCell, Difference> {
        let (a, mut b) = (by_cell(self.by_task(figure)), by_cell(later.by_task(figure)));
        let both = a.into_iter().filter_map(|(cell, a)| {
            let difference = difference(&a, &b.remove(&cell)?, figure, bootstrap);
            (difference.pairs > 0).then_some((cell, difference))
        });
        both.collect()
    }

    /// Returns the tasks that both runs have, with the values of a figure.
    pub fn pairs(&self, later: &Self, figure: &str) -> Vec<Pair> {
        pairs(&self.by_task(figure), &later.by_task(figure))
    }

    /// Returns the samples whose rows of the dataset differ between this run and a later one. Rows without an `id` are named by
    /// their number, so that other rows are paired if their order changed.
    pub fn changed_samples(&self, later: &Self) -> Vec<Task> {
        let differs = |name, digest| later.digests.get(name).is_some_and(|found| found != digest);
        let changed = self.digests.iter().filter(|(name, digest)| differs(*name, *digest));
        let task = |((scenario, sample), _): (&(Arc<str>, Arc<str>), _)| Task {
            scenario: scenario.to_string(),
            cell: BTreeMap::new(),
            sample: Some(sample.to_string()),
            trial: None,
        };
        changed.map(task).collect()
    }

    /// Returns the names of the figures that the run has: `pass_rate` and the metrics.
    pub fn figures(&self) -> BTreeSet<String> {
        let scored = self.rows().filter(|row| row.outcome.is_scored());
        let metrics = scored.flat_map(|row| row.metrics.iter());
        let names = metrics.map(|(name, _)| name.to_string());
        names.chain([PASS_RATE.to_owned()]).collect()
    }

    /// Returns the values of each sample of each cell in each of the runs; a scenario without a dataset is one sample.
    pub fn by_sample(runs: &[&Self], figure: &str) -> Vec<Vec<Vec<f64>>> {
        let mut samples: BTreeMap<_, Vec<Vec<f64>>> = BTreeMap::new();
        for (at, run) in runs.iter().enumerate() {
            for row in run.rows() {
                let Some(value) = value(row, figure) else {
                    continue;
                };
                let sample = (&row.scenario, &row.cell, &row.sample);
                let of_it = samples.entry(sample);
                of_it.or_insert_with(|| vec![Vec::new(); runs.len()])[at].push(value);
            }
        }
        samples.into_values().collect()
    }

    fn by_task(&self, figure: &str) -> BTreeMap<Task, f64> {
        let mut values: BTreeMap<Task, Vec<f64>> = BTreeMap::new();
        for row in self.rows() {
            if let Some(value) = value(row, figure) {
                values.entry(task(row)).or_default().push(value);
            }
        }
        let average = |(task, values): (Task, Vec<f64>)| {
            let average = mean::clustered(&[values])?.mean;
            Some((task, average))
        };
        values.into_iter().filter_map(average).collect()
    }
}

/// A scenario and a cell of its matrix.
pub type ScenarioCell = (String, BTreeMap<String, String>);

fn by_cell(tasks: BTreeMap<Task, f64>) -> BTreeMap<ScenarioCell, BTreeMap<Task, f64>> {
    let mut cells: BTreeMap<_, BTreeMap<Task, f64>> = BTreeMap::new();
    for (task, value) in tasks {
        let cell = (task.scenario.clone(), task.cell.clone());
        cells.entry(cell).or_default().insert(task, value);
    }
    cells
}

fn difference(
    a: &BTreeMap<Task, f64>,
    b: &BTreeMap<Task, f64>,
    figure: &str,
    bootstrap: Option<u64>,
) -> Difference {
    let pairs = pairs(a, b);
    let count = |is: fn(&Pair) -> bool| pairs.iter().filter(|pair| is(pair)).count();
    let (greater, smaller) = (count(|pair| pair.b > pair.a), count(|pair| pair.b < pair.a));
    let average = |of: fn(&Pair) -> f64| {
        let sum: f64 = pairs.iter().map(of).sum();
        (!pairs.is_empty()).then(|| sum / pairs.len() as f64)
    };
    let difference = statistics::estimate(&clusters(&pairs), bootstrap);
    let p_value = compare::sign_test(greater, smaller);
    Difference {
        figure: figure.to_owned(),
        pairs: pairs.len(),
        a: average(|pair| pair.a),
        b: average(|pair| pair.b),
        certain: is_certain(&difference, p_value),
        difference,
        greater,
        smaller,
        p_value,
        only_a: a.len() - pairs.len(),
        only_b: b.len() - pairs.len(),
    }
}

fn is_certain(difference: &Estimate, p_value: f64) -> bool {
    let excludes_0 = difference.lower.is_some_and(|lower| lower > 0.0)
        || difference.upper.is_some_and(|upper| upper < 0.0);
    let has_width = difference.half_width().is_some_and(|half| half > 0.0);
    excludes_0 && (has_width || p_value < SIGNIFICANT)
}

fn pairs(a: &BTreeMap<Task, f64>, b: &BTreeMap<Task, f64>) -> Vec<Pair> {
    let both =
        a.iter().filter_map(|(task, a)| Some(Pair { task: task.clone(), a: *a, b: *b.get(task)? }));
    both.collect()
}

/// Returns the differences, grouped by the sample or the number of the trial, which cells have in common. Each scenario
/// without a dataset is one group if there are several scenarios.
fn clusters(pairs: &[Pair]) -> Vec<Vec<f64>> {
    let scenarios: BTreeSet<&String> = pairs.iter().map(|pair| &pair.task.scenario).collect();
    let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        let trial = pair.task.trial.filter(|_| scenarios.len() == 1);
        let group = (&pair.task.scenario, &pair.task.sample, trial);
        groups.entry(group).or_default().push(pair.b - pair.a);
    }
    groups.into_values().collect()
}

fn task(row: &Row) -> Task {
    Task {
        scenario: row.scenario.to_string(),
        cell: BTreeMap::clone(&row.cell),
        sample: row.sample.as_deref().map(str::to_owned),
        trial: row.sample.is_none().then_some(row.trial),
    }
}

fn value(row: &Row, figure: &str) -> Option<f64> {
    match figure {
        PASS_RATE => {
            let passed = f64::from(u8::from(row.outcome == Outcome::Passed));
            row.outcome.is_scored().then_some(passed)
        }
        metric => row.metric(metric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        record::{TrialRecord, tests::record},
        statistics::Method,
    };

    #[test]
    fn a_difference_is_certain_if_its_interval_excludes_0() {
        for (lower, upper, p_value, certain) in [
            (0.1, 0.3, 1.0, true),
            (-0.3, -0.1, 1.0, true),
            (-0.1, 0.3, 0.01, false),
            (0.0, 0.3, 0.01, false),
            (-0.3, 0.0, 0.01, false),
            // The sign test decides about an interval without a width.
            (1.0, 1.0, 0.04, true),
            (1.0, 1.0, 0.06, false),
        ] {
            let bounds = Some((lower, upper));
            let difference = Estimate::of(&[], 0.0, bounds, Method::StudentT);
            assert_eq!(is_certain(&difference, p_value), certain, "{lower} to {upper}, {p_value}");
        }
    }

    #[test]
    fn tasks_that_only_one_run_has_are_counted() {
        let run = |trials: &[u32]| {
            let record =
                |trial: &u32| TrialRecord { trial: *trial, ..record(&trial.to_string(), 1) };
            SummaryBuilder::of(&trials.iter().map(record).collect::<Vec<_>>())
        };
        let (a, b) = (run(&[1, 2, 3]), run(&[3, 4]));
        let found = a.difference(&b, PASS_RATE, None);
        assert_eq!((found.pairs, found.only_a, found.only_b), (1, 2, 1));
        let by_cell = a.differences_by_cell(&b, PASS_RATE, None);
        assert_eq!(by_cell.into_values().collect::<Vec<_>>(), [found]);
        assert!(a.differences_by_cell(&run(&[4]), PASS_RATE, None).is_empty());
    }

    #[test]
    fn cells_share_the_trials_of_one_scenario_and_several_scenarios_share_nothing() {
        let pair = |scenario: &str, model: &str, trial, b| Pair {
            task: Task {
                scenario: scenario.to_owned(),
                cell: BTreeMap::from([("model".to_owned(), model.to_owned())]),
                sample: None,
                trial: Some(trial),
            },
            a: 1.0,
            b,
        };
        let mut pairs = vec![
            pair("shop", "small", 1, 2.0),
            pair("shop", "small", 2, 3.0),
            pair("shop", "large", 1, 4.0),
            pair("shop", "large", 2, 5.0),
        ];
        assert_eq!(clusters(&pairs), [[1.0, 3.0], [2.0, 4.0]]);
        pairs.push(pair("club", "small", 1, 9.0));
        assert_eq!(clusters(&pairs), [vec![8.0], vec![1.0, 2.0, 3.0, 4.0]]);
    }
}
