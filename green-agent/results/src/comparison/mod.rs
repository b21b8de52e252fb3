//! Compares two runs, or the cells of one run: their figures, paired by sample, the tasks whose result flipped, the
//! changes in the transcripts of those, and the problems that are new or gone.

mod axis;
mod problems;
mod transcripts;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    axis::{AxisDifference, AxisError, AxisPair, axis_differences, by_axis},
    problems::ProblemChange,
};
use crate::{
    record::{RunFolder, TrialRecord},
    summary::{Difference, Figures, PASS_RATE, Pair, RunSummary, SECONDS, SummaryBuilder, Task},
};

/// The version of this form.
pub const VERSION: u32 = 1;

/// Two runs side by side. `a` is the earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The version of this form.
    pub version: u32,
    /// The figures of all trials of the first run.
    pub a: Figures,
    /// The figures of all trials of the second run.
    pub b: Figures,
    /// The difference of each figure over the tasks that both have; the pass rate first.
    pub differences: Vec<Difference>,
    /// The tasks with another pass rate, those that got worse first.
    pub flips: Vec<Flip>,
    /// The problems whose number changed, those that are new or more frequent first.
    pub problems: Vec<ProblemChange>,
    /// The samples whose rows differ between the runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_samples: Vec<Task>,
}

/// A task whose pass rate differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Flip {
    /// The task with both pass rates.
    #[serde(flatten)]
    pub pair: Pair,
    /// A unified diff of the canonical transcripts of the first trial with another outcome, or the reason why there is
    /// none. `null` if it was not requested.
    pub transcript: Option<String>,
}

impl Comparison {
    /// Compares two runs. Of the first `transcripts` flips, the transcripts are compared too. `bootstrap` is the
    /// seed of bootstrap intervals.
    pub fn new(a: &RunFolder, b: &RunFolder, transcripts: usize, bootstrap: Option<u64>) -> Self {
        let (rows_a, rows_b) = (rows(a), rows(b));
        Self {
            version: VERSION,
            a: RunSummary::of(a, bootstrap).total,
            b: RunSummary::of(b, bootstrap).total,
            differences: differences(&rows_a, &rows_b, bootstrap),
            flips: flips(rows_a.pairs(&rows_b, PASS_RATE), (a, b), transcripts),
            problems: problems::changes(&a.counted(), &b.counted()),
            changed_samples: rows_a.changed_samples(&rows_b),
        }
    }

    /// Returns whether the runs have no task in common, so that nothing could be compared.
    pub fn is_apart(&self) -> bool {
        self.differences.iter().all(|one| one.pairs == 0)
    }

    /// Returns the figures that certainly got worse: greater values are better, and the difference is below 0 and unlikely to be
    /// chance.
    pub fn regressions(&self) -> impl Iterator<Item = &Difference> {
        let is_better = |figure: &str| figure == PASS_RATE || crate::problem::is_worth(figure);
        self.differences.iter().filter(move |one| {
            let is_less = one.difference.mean.is_some_and(|mean| mean < 0.0);
            is_better(&one.figure) && one.certain && is_less
        })
    }
}

/// Returns the differences of all figures that both sides have: the pass rate first, the time last.
fn differences(a: &SummaryBuilder, b: &SummaryBuilder, bootstrap: Option<u64>) -> Vec<Difference> {
    let figures = a.figures();
    let both = figures.intersection(&b.figures()).cloned().collect::<Vec<_>>();
    let metrics = both.into_iter().filter(|figure| figure != PASS_RATE && figure != SECONDS);
    let figures = std::iter::once(PASS_RATE.to_owned()).chain(metrics).chain([SECONDS.to_owned()]);
    figures.map(|figure| a.difference(b, &figure, bootstrap)).collect()
}

/// Returns the records of a run in the form for comparisons.
pub fn rows(run: &RunFolder) -> SummaryBuilder {
    SummaryBuilder::of(&run.records)
}

fn flips(pairs: Vec<Pair>, runs: (&RunFolder, &RunFolder), transcripts: usize) -> Vec<Flip> {
    let mut flipped: Vec<Pair> = pairs.into_iter().filter(|pair| pair.a != pair.b).collect();
    flipped.sort_by(|one, other| (one.b - one.a).total_cmp(&(other.b - other.a)));
    let (a, b) = (runs.0.counted(), runs.1.counted());
    let with_transcript = |(index, pair): (usize, Pair)| {
        let records = || (of_task(&a, &pair.task), of_task(&b, &pair.task));
        Flip {
            transcript: (index < transcripts).then(|| transcripts::change(runs, records())),
            pair,
        }
    };
    flipped.into_iter().enumerate().map(with_transcript).collect()
}

fn of_task<'a>(records: &[&'a TrialRecord], task: &Task) -> Vec<&'a TrialRecord> {
    let of_it = records.iter().filter(|record| {
        record.scenario == task.scenario
            && record.cell == task.cell
            && record.sample == task.sample
            && task.trial.is_none_or(|trial| trial == record.trial)
    });
    of_it.copied().collect()
}

#[cfg(test)]
mod tests;
