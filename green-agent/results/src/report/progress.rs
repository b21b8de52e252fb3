//! The progress of a run in one line: trials done, failed and running, the rate, the time left.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use crate::{problem::Outcome, record::TrialRecord};

/// The count of a run's trials.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The number of trials; it grows while scenarios are read.
    pub(super) total: usize,
    pub(super) done: usize,
    /// The number of trials done that did not pass, except those of scenarios that must fail.
    pub(super) not_passed: usize,
    pub(super) running: usize,
    /// The trials done that broke through no fault of the agent, by key: these may be tried again.
    broken: BTreeSet<String>,
    /// The start of the first trial. What is installed before takes minutes, and says nothing about the trials.
    pub(super) since: Option<Instant>,
}

impl Progress {
    /// Counts a trial that starts now.
    pub(super) fn start(&mut self, now: Instant) {
        self.running += 1;
        self.since.get_or_insert(now);
    }

    /// Counts an attempt that has ended. An attempt that did not begin was not counted as running.
    pub(super) fn add(&mut self, record: &TrialRecord, must_fail: bool) {
        let has_failed = usize::from(record.outcome != Outcome::Passed && !must_fail);
        if self.broken.remove(&record.key) {
            self.done -= 1;
            self.not_passed -= usize::from(!must_fail);
        }
        if !record.outcome.is_scored() && record.was_tried() {
            self.broken.insert(record.key.clone());
        }
        self.done += 1;
        self.not_passed += has_failed;
        if record.folder.is_some() {
            self.running = self.running.saturating_sub(1);
        }
    }

    /// Returns the line.
    pub(super) fn line(&self, now: Instant) -> String {
        let elapsed =
            self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let total = self.total.max(self.done + self.running);
        let mut parts = vec![format!("{}/{total} trials", self.done)];
        if self.not_passed > 0 {
            parts.push(format!("{} did not pass", self.not_passed));
        }
        parts.push(format!("{} running", self.running));
        let rate = self.done as f64 / elapsed.as_secs_f64().max(0.001);
        if self.done > 0 {
            parts.push(shown_rate(rate));
            let left = (total - self.done) as f64 / rate;
            parts.push(format!("{} left", shown_time(left)));
        }
        parts.join(", ")
    }
}

/// The intervals at which the line is printed without a terminal, such as in the log of a continuous integration.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The time of the last line since the run began, and the trials that were done then.
    last: Duration,
    done: usize,
}

impl Pace {
    /// The shortest time between two lines about ended trials.
    const SHORTEST: Duration = Duration::from_secs(5);

    /// The longest time without a line.
    const LONGEST: Duration = Duration::from_secs(60);

    /// Returns whether a line is due now, `elapsed` after the run began. The first one is due as soon as a trial has
    /// ended.
    pub(super) fn is_due(&mut self, progress: &Progress, elapsed: Duration) -> bool {
        let quiet = elapsed.saturating_sub(self.last);
        let is_news = progress.done > self.done;
        let is_due =
            (is_news && (self.done == 0 || quiet >= Self::SHORTEST)) || quiet >= Self::LONGEST;
        if is_due {
            (self.last, self.done) = (elapsed, progress.done);
        }
        is_due
    }
}

fn shown_rate(rate: f64) -> String {
    if rate >= 1.0 { format!("{rate:.1}/s") } else { format!("{:.1}/min", rate * 60.0) }
}

fn shown_time(seconds: f64) -> String {
    let seconds = seconds.min(1e9).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    fn check(
        done: usize,
        not_passed: usize,
        running: usize,
        total: usize,
        seconds: u64,
        line: &str,
    ) {
        let mut progress = Progress { total, done, not_passed, ..Progress::default() };
        // The run may have begun long before.
        let first = Instant::now();
        progress.start(first);
        progress.start(first + Duration::from_secs(1));
        progress.running = running;
        assert_eq!(progress.line(first + Duration::from_secs(seconds)), line);
    }

    #[test]
    fn the_line_says_how_far_and_how_long() {
        check(0, 0, 2, 40, 3, "0/40 trials, 2 running");
        check(20, 3, 2, 40, 10, "20/40 trials, 3 did not pass, 2 running, 2.0/s, 10 s left");
        check(1, 0, 1, 31, 60, "1/31 trials, 1 running, 1.0/min, 30 min 0 s left");
        check(1, 0, 1, 10_001, 3600, "1/10001 trials, 1 running, 0.0/min, 10000 h 0 min left");
        // The time left is not negative if there are more trials than planned.
        check(5, 0, 1, 2, 5, "5/6 trials, 1 running, 1.0/s, 1 s left");
    }

    #[test]
    fn a_trial_that_is_tried_again_counts_once() {
        let mut progress = Progress { total: 2, ..Progress::default() };
        let ended = |key: &str, attempt, outcome| TrialRecord { outcome, ..record(key, attempt) };
        let mut add = |record: &TrialRecord| {
            progress.add(record, false);
            (progress.done, progress.not_passed)
        };
        assert_eq!(add(&ended("a", 1, Outcome::ModelError)), (1, 1));
        assert_eq!(add(&ended("a", 2, Outcome::ModelError)), (1, 1));
        assert_eq!(add(&ended("a", 3, Outcome::Passed)), (1, 0));
        // An earlier run counted its first attempt.
        assert_eq!(add(&ended("b", 2, Outcome::Failed)), (2, 1));
    }

    #[test]
    fn a_log_gets_a_line_every_few_seconds_and_one_a_minute_in_silence() {
        let mut pace = Pace::default();
        let mut due = |done: usize, seconds: u64| {
            let progress = Progress { total: 9, done, ..Progress::default() };
            pace.is_due(&progress, Duration::from_secs(seconds))
        };
        assert!(!due(0, 1));
        assert!(due(1, 2));
        assert!(!due(1, 3) && !due(2, 6));
        assert!(due(2, 7));
        assert!(!due(2, 12) && !due(2, 66));
        assert!(due(2, 67));
        assert!(!due(2, 68));
        assert!(due(3, 72));
    }
}
