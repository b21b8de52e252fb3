//! The figures of a run, computed from its records: outcomes, the pass rate and each metric with their
//! intervals, pass@k and pass^k. `docs/statistics.md` states the formulas.
//!
//! - [`RunSummary`]: the figures of each scenario and of each cell of its matrix
//! - [`SummaryBuilder`]: collects the values for them, a few hundred bytes a trial
//! - [`Difference`]: a figure of two runs, paired by sample
//! - `figures`: computes them for one group of trials; `row`: one trial

mod builder;
mod figures;
mod paired;
mod row;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

pub use green_agent_scenario::gate::PASS_RATE;

pub use self::{
    builder::SummaryBuilder,
    paired::{Difference, Pair, ScenarioCell, Task},
};
use crate::{
    problem::Outcome,
    record::{RunFolder, TokenCounts, TrialRecord},
    statistics::{Estimate, pass::PassAtK},
};
pub(crate) use builder::means;

/// Describes the number of trials with each outcome; of those that did not run, `not_needed` were stopped early.
pub fn outcomes_text(outcomes: &BTreeMap<Outcome, usize>, not_needed: usize) -> String {
    let count = |(outcome, count): (&Outcome, &usize)| {
        let count = match outcome {
            Outcome::NotRun => count.saturating_sub(not_needed),
            _ => *count,
        };
        (count > 0).then(|| format!("{count} {}", outcome.title()))
    };
    let counts = outcomes.iter().filter_map(count);
    let not_needed = (not_needed > 0).then(|| format!("{not_needed} not needed"));
    counts.chain(not_needed).collect::<Vec<_>>().join(", ")
}

/// The options for computing figures.
#[derive(Clone, Debug, Default)]
pub struct SummaryOptions {
    /// The seed of bootstrap intervals for metrics; `None` for Student's intervals.
    pub bootstrap: Option<u64>,
    /// The names of the scenarios that must fail. They are left out of the total.
    pub must_fail: BTreeSet<String>,
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The figures of each scenario, in the order of their names.
    pub scenarios: Vec<ScenarioSummary>,
    /// The figures of all scenarios together, without those that must fail. A scenario (or each sample of its
    /// dataset) counts as one sample.
    pub total: Figures,
}

/// The figures of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScenarioSummary {
    /// The scenario's name.
    pub scenario: String,
    /// The figures of all its trials.
    #[serde(flatten)]
    pub figures: Figures,
    /// The figures of each cell of its matrix; empty without a matrix.
    pub cells: Vec<CellSummary>,
}

/// The figures of a cell of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellSummary {
    /// The value of each axis, as text.
    pub cell: BTreeMap<String, String>,
    /// The figures of its trials.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of a group of trials. Only the last attempt of each trial counts in them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// The number of trials.
    pub trials: usize,
    /// The number of rows of the dataset from which they come; 1 without a dataset.
    pub samples: usize,
    /// The number of trials by outcome.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// The number of trials that did not run because the interval was already narrow enough; they are among
    /// the outcome `not-run`.
    pub stopped_early: usize,
    /// The rate of trials that passed among those that say something about the agent: passed, failed, and
    /// ended by the agent's own error.
    pub pass_rate: Estimate,
    /// The metrics by name, over the same trials. In `score`, `success` and `reward` the agent's own error
    /// counts as 0; other metrics leave it out.
    pub metrics: BTreeMap<String, Estimate>,
    /// pass@k and pass^k for each k from 1 to the most trials of a sample, averaged over samples.
    pub pass_at_k: Vec<PassAtK>,
    /// The attempts that were followed by another attempt at the same trial.
    pub retried: Retried,
    /// The tokens that agents reported, of all trials; `null` if none did.
    pub usage: Option<TokenCounts>,
    /// The sum of the trials' durations in seconds.
    pub seconds: f64,
    /// How long a trial was evaluated, in seconds, without the start and the end of its agents; the figure `seconds`.
    pub time: Estimate,
}

/// The attempts that do not count, because their trial was retried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Retried {
    /// The number of attempts.
    pub attempts: usize,
    /// The number of attempts by outcome.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// The sum of their durations in seconds.
    pub seconds: f64,
}

impl RunSummary {
    /// Computes the figures of these records, which may be in any order.
    pub fn new(records: &[TrialRecord], options: &SummaryOptions) -> Self {
        SummaryBuilder::of(records).finish(options)
    }

    /// Computes the figures of a run's folder; `bootstrap` is the seed of bootstrap intervals.
    pub fn of(folder: &RunFolder, bootstrap: Option<u64>) -> Self {
        let scenarios = folder.manifest.scenarios.iter();
        let must_fail = scenarios.filter(|one| one.must_fail.is_some());
        let options = SummaryOptions {
            bootstrap,
            must_fail: must_fail.map(|one| one.name.clone()).collect(),
        };
        Self::new(&folder.records, &options)
    }

    /// Returns the figures of a scenario.
    pub fn scenario(&self, name: &str) -> Option<&ScenarioSummary> {
        self.scenarios.iter().find(|one| one.scenario == name)
    }
}

impl ScenarioSummary {
    /// Returns the figures of each cell, or those of the scenario if it has no matrix.
    pub fn by_cell(&self) -> Vec<(&BTreeMap<String, String>, &Figures)> {
        static NO_CELL: BTreeMap<String, String> = BTreeMap::new();
        match self.cells.is_empty() {
            true => vec![(&NO_CELL, &self.figures)],
            false => {
                let cells = self.cells.iter();
                cells.map(|one| (&one.cell, &one.figures)).collect()
            }
        }
    }
}

impl Figures {
    /// Returns the figure of this name: `pass_rate`, a metric, or `seconds`.
    pub fn named(&self, name: &str) -> Option<&Estimate> {
        match name {
            PASS_RATE => Some(&self.pass_rate),
            metric => self.metrics.get(metric).or((metric == SECONDS).then_some(&self.time)),
        }
    }
}

/// The name of the time for which trials were evaluated, unless an evaluator has a metric of this name.
pub const SECONDS: &str = "seconds";

#[cfg(test)]
mod tests;
