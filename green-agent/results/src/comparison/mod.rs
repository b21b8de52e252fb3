//! Compares two runs, or the cells of one run: their figures, paired by sample, the tasks whose result flipped, the
//! changes in the transcripts of those, and the problems that are new or gone.

mod axis;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::axis::{AxisDifference, AxisError, AxisPair, axis_differences, by_axis};
use crate::{
    problem::{Owner, Problem, ProblemKind},
    record::{RunFolder, TrialRecord},
    summary::{Difference, Figures, PASS_RATE, Pair, RunSummary, SECONDS, SummaryBuilder, Task},
};
use green_agent_transcript::{self as transcript, Names, SnapshotSettings, canonical, snapshot};

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
        let [rows_a, rows_b] = [a, b].map(|run| SummaryBuilder::of(&run.records));
        Self {
            version: VERSION,
            a: RunSummary::of(a, bootstrap).total,
            b: RunSummary::of(b, bootstrap).total,
            differences: differences(&rows_a, &rows_b, bootstrap),
            flips: flips(rows_a.pairs(&rows_b, PASS_RATE), (a, b), transcripts),
            problems: problem_changes(&a.counted(), &b.counted()),
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

/// Returns the differences of all figures of which both sides have values: the pass rate first, the time last. If all agents of a run
/// crashed, the run has no score, but each of its trials counts as 0.
fn differences(a: &SummaryBuilder, b: &SummaryBuilder, bootstrap: Option<u64>) -> Vec<Difference> {
    let difference = |figure: &str| a.difference(b, figure, bootstrap);
    let (of_a, of_b) = (a.figures(), b.figures());
    let metrics = of_a.union(&of_b).filter(|figure| *figure != PASS_RATE && *figure != SECONDS);
    let metrics = metrics.map(|figure| difference(figure)).filter(|one| one.pairs > 0);
    [difference(PASS_RATE)].into_iter().chain(metrics).chain([difference(SECONDS)]).collect()
}

fn flips(pairs: Vec<Pair>, runs: (&RunFolder, &RunFolder), transcripts: usize) -> Vec<Flip> {
    let mut flipped: Vec<Pair> = pairs.into_iter().filter(|pair| pair.a != pair.b).collect();
    flipped.sort_by(|one, other| (one.b - one.a).total_cmp(&(other.b - other.a)));
    let (a, b) = (runs.0.counted(), runs.1.counted());
    let with_transcript = |(index, pair): (usize, Pair)| {
        let records = || (of_task(&a, &pair.task), of_task(&b, &pair.task));
        Flip { transcript: (index < transcripts).then(|| transcript_change(runs, records())), pair }
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

/// The largest size of a canonical transcript that is compared, in bytes.
const LARGEST_TRANSCRIPT: usize = 2 * 1024 * 1024;

/// Returns a diff of the first two trials of the same number whose outcomes differ, or of the first two; or the reason
/// why there is none.
fn transcript_change(
    runs: (&RunFolder, &RunFolder),
    records: (Vec<&TrialRecord>, Vec<&TrialRecord>),
) -> String {
    let (all_a, all_b) = records;
    let pairs: Vec<(&TrialRecord, &TrialRecord)> = all_a
        .into_iter()
        .filter_map(|a| Some((a, *all_b.iter().find(|b| b.trial == a.trial)?)))
        .collect();
    let differ = pairs.iter().find(|(a, b)| a.outcome != b.outcome);
    let Some((a, b)) = differ.or(pairs.first()) else {
        return "no trial of the same number in both runs".to_owned();
    };
    match (transcript_text(runs.0, a), transcript_text(runs.1, b)) {
        (Ok(a), Ok(b)) if a == b => "the transcripts are the same".to_owned(),
        (Ok(a), Ok(b)) => snapshot::diff(&a, &b, ("a", "b")),
        (Err(why), _) | (_, Err(why)) => why,
    }
}

fn transcript_text(run: &RunFolder, record: &TrialRecord) -> Result<String, String> {
    let folder = record.folder.as_deref().ok_or("a trial was not started")?;
    let path = record
        .folder_below(&run.path)
        .ok_or_else(|| format!("{folder:?} is not a folder below the run's"))?
        .join("transcript.jsonl");
    let entries = transcript::read(&path).map_err(|error| error.to_string())?;
    let names = Names { origins: record.parties.clone(), roles: Vec::new() };
    let text = canonical(&entries, &names, &SnapshotSettings::default());
    match text.len() <= LARGEST_TRANSCRIPT {
        true => Ok(text),
        false => Err(format!("{} is too large to be compared", path.display())),
    }
}

/// The most characters of a problem's text.
const SHOWN: usize = 160;

/// A problem with the number of trials that have it in two runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProblemChange {
    /// The scenario.
    pub scenario: String,
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The party at fault.
    pub owner: Owner,
    /// The first line of its message, with `#` in place of numbers, because ports and times differ.
    pub message: String,
    /// The number of trials in the first run; 0 if the problem is new.
    pub a: usize,
    /// The number of trials in the second run; 0 if the problem is gone.
    pub b: usize,
}

/// Returns the problems whose number differs.
fn problem_changes(a: &[&TrialRecord], b: &[&TrialRecord]) -> Vec<ProblemChange> {
    let mut changes: BTreeMap<(String, &'static str, String), ProblemChange> = BTreeMap::new();
    let mut count = |records: &[&TrialRecord], add: fn(&mut ProblemChange)| {
        for record in records {
            // A trial may have the same problem several times, such as at two lines.
            let problems: BTreeMap<_, &Problem> = record
                .problems
                .iter()
                .map(|one| ((one.kind.title(), describe(one)), one))
                .collect();
            for ((title, message), problem) in problems {
                let key = (record.scenario.clone(), title, message.clone());
                let change = changes.entry(key).or_insert_with(|| ProblemChange {
                    scenario: record.scenario.clone(),
                    kind: problem.kind,
                    owner: problem.owner,
                    message,
                    a: 0,
                    b: 0,
                });
                add(change);
            }
        }
    };
    count(a, |change| change.a += 1);
    count(b, |change| change.b += 1);
    let mut changes: Vec<_> = changes.into_values().filter(|change| change.a != change.b).collect();
    changes.sort_by_key(|change| change.a as i64 - change.b as i64);
    changes
}

fn describe(problem: &Problem) -> String {
    let line = problem.message.lines().next().unwrap_or_default();
    let mut text = String::new();
    for c in line.chars().take(SHOWN) {
        match c.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests;
