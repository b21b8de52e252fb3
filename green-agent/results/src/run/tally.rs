//! What is kept of the trials of a scenario while they run: counts, and the reports that are shown at the end. Memory must
//! not grow with the number of trials.

use std::collections::BTreeMap;

use bridge_program::Exit;

use super::TrialReport;
use crate::problem::{Outcome, Problem, ProblemKind};

/// Of how many trials that did not pass the reports are kept: those of the smallest numbers.
pub const MOST_KEPT: usize = 10;

/// The counts of all trials of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialCounts {
    /// The number of trials.
    pub trials: usize,
    /// The number of those with a problem that is to be shown.
    pub with_problems: usize,
    /// The number of those that did not run because a requirement is missing.
    pub missing: usize,
    /// The exit code that they cause together.
    pub exit: Exit,
    /// The same without trials that failed, over which gates decide.
    pub broken: Exit,
    /// The sum of their durations in seconds.
    pub seconds: f64,
}

/// Collects the reports of trials as they end.
#[derive(Debug)]
pub struct TrialTally {
    keeps_all: bool,
    counts: TrialCounts,
    outcomes: BTreeMap<Outcome, usize>,
    /// The reports that are kept, by the place of their trial in the plan.
    kept: BTreeMap<usize, TrialReport>,
}

impl TrialTally {
    /// Begins without a trial.
    pub fn new(keeps_all: bool) -> Self {
        Self {
            keeps_all,
            counts: TrialCounts::default(),
            outcomes: BTreeMap::new(),
            kept: BTreeMap::new(),
        }
    }

    /// Adds the trial at a place in the plan.
    pub fn add(&mut self, at: usize, report: TrialReport) {
        let has = |kind| report.problems.iter().any(|one| one.kind == kind);
        let is_shown = report.problems.iter().any(is_shown);
        let exit = report.exit();
        let counts = &mut self.counts;
        counts.trials += 1;
        counts.with_problems += usize::from(is_shown);
        counts.missing += usize::from(has(ProblemKind::MissingRequirement));
        counts.exit = counts.exit.max(exit);
        counts.seconds += report.seconds;
        if exit != Exit::Failed {
            counts.broken = counts.broken.max(exit);
        }
        *self.outcomes.entry(report.outcome).or_default() += 1;
        if self.keeps_all || is_shown {
            self.kept.insert(at, report);
        }
        if !self.keeps_all && self.kept.len() > MOST_KEPT {
            self.kept.pop_last();
        }
    }

    /// Returns the number of trials by outcome, all counts, and the reports that are kept.
    pub fn into_parts(self) -> (BTreeMap<Outcome, usize>, TrialCounts, Vec<TrialReport>) {
        (
            self.outcomes,
            self.counts,
            self.kept.into_values().collect(),
        )
    }
}

/// Returns whether people are told of a problem: that no more trials were needed is none.
pub fn is_shown(problem: &Problem) -> bool {
    problem.kind != ProblemKind::StoppedEarly
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_number_of_trials_ten_that_failed_are_kept_and_all_are_counted() {
        let report = |kind: Option<ProblemKind>| {
            let mut report = TrialReport::not_begun(ProblemKind::Harness.because(""));
            report.problems = kind.iter().map(|kind| kind.because("x")).collect();
            let outcomes = report.problems.iter().map(Problem::outcome);
            report.outcome = outcomes.max().unwrap_or_default();
            report
        };
        let mut tally = TrialTally::new(false);
        // The order in which trials end is not that of their numbers.
        for at in (0..10_000).rev() {
            tally.add(
                at,
                report(match at % 4 {
                    0 => Some(ProblemKind::GoalMissed),
                    1 => Some(ProblemKind::StoppedEarly),
                    _ => None,
                }),
            );
        }
        tally.add(10_000, report(Some(ProblemKind::Harness)));
        assert!(tally.kept.keys().copied().eq((0..40).step_by(4)));
        let (outcomes, counts, trials) = tally.into_parts();
        assert_eq!(trials.len(), MOST_KEPT);
        assert_eq!((counts.trials, counts.with_problems), (10_001, 2501));
        assert_eq!(outcomes[&Outcome::Passed], 5000);
        assert_eq!(outcomes.values().sum::<usize>(), 10_001);
        assert_eq!(counts.exit, Exit::Infrastructure);
        assert_eq!(counts.broken, Exit::Infrastructure);
    }
}
