//! A tally of the trials of a scenario while they run: counts, and the reports that are shown at the end. Memory must
//! not grow with the number of trials, except for a few bytes for each kind of failure.

use std::{collections::BTreeMap, mem};

use bridge_program::Exit;

use super::{TrialReport, alike::Failure};
use crate::problem::{Outcome, Problem, ProblemKind};

/// The number of different failures of which a report is kept, that of the trial with the smallest number. The failures
/// of the first trials in the plan are kept.
pub const MOST_KEPT: usize = 10;

/// The counts of all trials of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialCounts {
    /// The number of trials.
    pub trials: usize,
    /// The number of trials with a problem that is shown.
    pub with_problems: usize,
    /// The number of trials that did not run because a requirement is missing.
    pub missing: usize,
    /// The exit code that they cause together.
    pub exit: Exit,
    /// The same without failed trials, which gates decide about.
    pub broken: Exit,
    /// The sum of their durations in seconds.
    pub seconds: f64,
}

/// Collects the reports of trials as they end.
#[derive(Debug, Default)]
pub struct TrialTally {
    keeps_all: bool,
    counts: TrialCounts,
    outcomes: BTreeMap<Outcome, usize>,
    /// The reports that are kept, by the position of their trial in the plan.
    kept: BTreeMap<usize, TrialReport>,
    /// The trials that did not pass, by the fingerprint of their failure; empty if all reports are kept.
    failures: BTreeMap<u64, Failures>,
    notes: NoteTally,
}

/// Counts trials with notes, and keeps the note of the first one in the plan.
#[derive(Debug, Default)]
pub struct NoteTally {
    trials: usize,
    first: Option<(usize, String)>,
}

impl NoteTally {
    /// Adds the note of the trial at a position in the plan.
    pub fn add(&mut self, at: usize, note: &str) {
        self.trials += 1;
        if self.first.as_ref().is_none_or(|(first, _)| at < *first) {
            self.first = Some((at, note.to_owned()));
        }
    }

    /// Returns the number of trials with a note, and the note of the first one; `None` if no trial has a note.
    pub fn text(&self) -> Option<String> {
        let (_, note) = self.first.as_ref()?;
        Some(match self.trials {
            1 => format!("1 trial {note}"),
            trials => format!("{trials} trials, the first of which {note}"),
        })
    }
}

/// Trials that failed alike.
#[derive(Debug)]
struct Failures {
    /// The place of the first one in the plan.
    first: usize,
    trials: usize,
}

impl TrialTally {
    /// Creates a tally without trials.
    pub fn new(keeps_all: bool) -> Self {
        Self { keeps_all, ..Self::default() }
    }

    /// Adds the trial at a position in the plan.
    pub fn add(&mut self, at: usize, report: TrialReport) {
        let has = |kind| report.problems.iter().any(|one| one.kind == kind);
        let failure = Failure::of(&report.cell, &report.problems);
        let fingerprint = failure.map(|failure| failure.fingerprint());
        let exit = report.exit();
        let counts = &mut self.counts;
        counts.trials += 1;
        counts.with_problems += usize::from(fingerprint.is_some());
        counts.missing += usize::from(has(ProblemKind::MissingRequirement));
        counts.exit = counts.exit.max(exit);
        counts.seconds += report.seconds;
        if exit != Exit::Failed {
            counts.broken = counts.broken.max(exit);
        }
        *self.outcomes.entry(report.outcome).or_default() += 1;
        if let Some(note) = &report.note {
            self.notes.add(at, note);
        }
        match (self.keeps_all, fingerprint) {
            (true, _) => drop(self.kept.insert(at, report)),
            (false, Some(fingerprint)) => self.add_failure(at, report, fingerprint),
            (false, None) => {}
        }
    }

    /// Counts a trial that did not pass with those that failed alike, and keeps its report if it is the first one.
    fn add_failure(&mut self, at: usize, report: TrialReport, fingerprint: u64) {
        let alike = self.failures.entry(fingerprint).or_insert(Failures { first: at, trials: 0 });
        alike.trials += 1;
        if alike.first < at {
            return;
        }
        let later = mem::replace(&mut alike.first, at);
        self.kept.remove(&later);
        self.kept.insert(at, report);
        if self.kept.len() > MOST_KEPT {
            self.kept.pop_last();
        }
    }

    /// Returns the first note of a trial with the number of trials that have one.
    pub fn note(&self) -> Option<String> {
        self.notes.text()
    }

    /// Returns the number of trials by outcome, all counts, and the reports that are kept.
    pub fn into_parts(mut self) -> (BTreeMap<Outcome, usize>, TrialCounts, Vec<TrialReport>) {
        for alike in self.failures.values() {
            if let Some(first) = self.kept.get_mut(&alike.first) {
                first.alike = alike.trials - 1;
            }
        }
        (self.outcomes, self.counts, self.kept.into_values().collect())
    }
}

/// Returns whether a problem is shown: a trial that was not needed has none.
pub fn is_shown(problem: &Problem) -> bool {
    problem.kind != ProblemKind::StoppedEarly
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kind: Option<ProblemKind>, message: &str) -> TrialReport {
        let mut report = TrialReport::not_begun(ProblemKind::Harness.because(""));
        report.problems = kind.iter().map(|kind| kind.because(message)).collect();
        let outcomes = report.problems.iter().map(Problem::outcome);
        report.outcome = outcomes.max().unwrap_or_default();
        report
    }

    #[test]
    fn of_any_number_of_trials_ten_that_failed_are_kept_and_all_are_counted() {
        let mut tally = TrialTally::new(false);
        // Trials end in another order than that of their numbers.
        for at in (0..10_000).rev() {
            let kind = match at % 4 {
                0 => Some(ProblemKind::GoalMissed),
                1 => Some(ProblemKind::StoppedEarly),
                _ => None,
            };
            // Numbers do not separate failures.
            tally.add(at, report(kind, &format!("missed {}", "x".repeat(at / 4))));
        }
        tally.add(10_000, report(Some(ProblemKind::Harness), "x"));
        assert!(tally.kept.keys().copied().eq((0..40).step_by(4)));
        let (outcomes, counts, trials) = tally.into_parts();
        assert_eq!(trials.len(), MOST_KEPT);
        assert_eq!((counts.trials, counts.with_problems), (10_001, 2501));
        assert_eq!(outcomes[&Outcome::Passed], 5000);
        assert_eq!(outcomes.values().sum::<usize>(), 10_001);
        assert_eq!(counts.exit, Exit::Infrastructure);
        assert_eq!(counts.broken, Exit::Infrastructure);
    }

    #[test]
    fn the_first_of_alike_failures_is_kept_for_all() {
        let mut tally = TrialTally::new(false);
        for at in (0..100).rev() {
            let message = match at % 2 {
                0 => format!("nothing at 127.0.0.1:{}", 40_000 + at),
                _ => "missed".to_owned(),
            };
            tally.add(at, report(Some(ProblemKind::GoalMissed), &message));
        }
        assert!(tally.kept.keys().copied().eq([0, 1]));
        let (_, _, trials) = tally.into_parts();
        assert!(trials.iter().all(|one| one.alike == 49));
    }

    #[test]
    fn failures_of_two_cells_are_not_alike() {
        let mut tally = TrialTally::new(false);
        for at in 0..5 {
            let mut failed = report(Some(ProblemKind::GoalMissed), "missed");
            let model = if at < 2 { "small" } else { "large" };
            failed.cell = BTreeMap::from([("model".to_owned(), model.to_owned())]);
            tally.add(at, failed);
        }
        let (_, _, trials) = tally.into_parts();
        let alike: Vec<usize> = trials.iter().map(|one| one.alike).collect();
        assert_eq!(alike, [1, 2]);
    }
}
