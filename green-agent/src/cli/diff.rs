//! `green-agent diff`: compares two runs.

use std::{fmt::Display, path::PathBuf};

use bridge_program::{
    Exit, OrExit as _, errln, outln,
    terminal::{line, lines},
};
use clap::Args;
use serde::Serialize;

use super::interval::IntervalFlag;
use crate::{
    comparison::{Comparison, Flip, by_axis},
    record::RunFolder,
    statistics::{counted, number},
    summary::{Difference, Figures, Task},
};

const EXAMPLES: &str = "\
Examples:
  green-agent diff runs/monday runs/tuesday
  green-agent diff runs/monday runs/tuesday --json | jq .differences
  green-agent diff runs/monday runs/tuesday --fail-on-regression
  green-agent diff runs/monday --by model      compare the models of one run's matrix

Trials are paired by scenario, cell and sample; without a dataset, by the number of the trial. A figure has certainly changed if the \
interval of its difference does not contain 0.";

const NOTHING_IN_COMMON: &str = "\
the runs have no trial in common that says something about the agent, so nothing was compared; trials are paired by the scenario's \
name, cell and sample, without a dataset by the number of the trial: run one scenario file with another --agent";

/// Compare two runs, or the values of an axis of one run's matrix: the differences of figures with intervals, and the
/// samples whose outcome changed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Diff {
    /// The folder of the earlier run
    #[arg(value_name = "BEFORE")]
    a: PathBuf,
    /// The folder of the later run, whose changes are shown
    #[arg(value_name = "AFTER", required_unless_present = "by")]
    b: Option<PathBuf>,
    /// Compare the values of this axis of the first run's matrix with each other, instead of two runs
    #[arg(long, value_name = "AXIS", conflicts_with_all = ["b", "fail_on_regression"])]
    by: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The number of flipped samples for which to show the changes in the transcript
    #[arg(long, value_name = "N", default_value_t = 3)]
    transcripts: usize,
    /// Exit with 1 if pass rate, score, success or reward is certainly worse, or if nothing could be compared
    #[arg(long)]
    fail_on_regression: bool,
    #[command(flatten)]
    interval: IntervalFlag,
}

impl Diff {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let a = read(&self.a)?;
        match (&self.b, &self.by) {
            (_, Some(axis)) => self.compare_values(&a, axis),
            (b, None) => self.compare_runs(&a, &read(b.as_ref().unwrap_or(&self.a))?),
        }
    }

    fn compare_runs(&self, a: &RunFolder, b: &RunFolder) -> Result<Exit, Exit> {
        let comparison = Comparison::new(a, b, self.transcripts, self.interval.bootstrap());
        self.print(&comparison, || {
            let names = [&a.path, &b.path].map(|path| path.display());
            show(["before", "after"], names, &comparison);
        })?;
        let is_apart = comparison.is_apart();
        if is_apart {
            let severity = if self.fail_on_regression { "error" } else { "note" };
            errln!("{severity}: {NOTHING_IN_COMMON}");
        }
        let is_worse = comparison.regressions().next().is_some();
        let fails = self.fail_on_regression && (is_worse || is_apart);
        Ok(if fails { Exit::Failed } else { Exit::Passed })
    }

    fn compare_values(&self, run: &RunFolder, axis: &str) -> Result<Exit, Exit> {
        let pairs = by_axis(run, axis, self.transcripts, self.interval.bootstrap());
        let pairs = pairs.or_exit(Exit::Usage)?;
        self.print(&pairs, || {
            for (at, pair) in pairs.iter().enumerate() {
                if at > 0 {
                    outln!();
                }
                let name = |value| format!("{} {}", line(axis), line(value));
                show(
                    ["A", "B"],
                    [&pair.value_a, &pair.value_b].map(|value| name(value)),
                    &pair.comparison,
                );
            }
        })?;
        Ok(Exit::Passed)
    }

    /// Prints a comparison: as JSON on request, otherwise by `show`.
    fn print(&self, compared: &impl Serialize, show: impl FnOnce()) -> Result<(), Exit> {
        if !self.json {
            show();
            return Ok(());
        }
        let text = serde_json::to_string_pretty(compared).or_exit(Exit::Infrastructure)?;
        outln!("{text}");
        Ok(())
    }
}

/// Shows a comparison; `sides` are the words for the two sides.
fn show(sides: [&str; 2], names: [impl Display; 2], comparison: &Comparison) {
    let figures = [&comparison.a, &comparison.b];
    let width = sides[0].len();
    for ((side, name), figures) in sides.iter().zip(names).zip(figures) {
        outln!("{side:width$}  {name}  {}", overview(figures));
    }
    let of = comparison.differences.first();
    let unpaired = of.map_or((0, 0), |rate| (rate.only_a, rate.only_b));
    if unpaired != (0, 0) {
        outln!(
            "only in {}: {}, only in {}: {} samples or trials; they are left out below",
            sides[0],
            unpaired.0,
            sides[1],
            unpaired.1
        );
    }
    if let Some(first) = comparison.changed_samples.first() {
        outln!(
            "samples with another row in {} than in {}: {}, such as {}; they are paired by name below. A row without an id is named by \
             its number: give each an id before rows are moved",
            sides[1],
            sides[0],
            comparison.changed_samples.len(),
            place(first),
        );
    }
    outln!();
    comparison.differences.iter().for_each(show_difference);
    if !comparison.flips.is_empty() {
        outln!("\nflipped:");
    }
    comparison.flips.iter().for_each(show_flip);
    if !comparison.problems.is_empty() {
        outln!("\nproblems:");
    }
    for change in &comparison.problems {
        let word = match (change.a, change.b) {
            (0, _) => "new",
            (_, 0) => "gone",
            (a, b) if a < b => "more",
            _ => "fewer",
        };
        let (kind, message) = (change.kind.title(), line(&change.message));
        outln!("  {word:5}  {} -> {}  {}  {kind}: {message}", change.a, change.b, change.scenario);
    }
    for flip in &comparison.flips {
        if let Some(diff) = &flip.transcript {
            outln!("\ntranscript of {}:\n{}", place(&flip.pair.task), lines(diff).trim_end());
        }
    }
}

/// Reads a run's folder; if it cannot be read, prints why and returns the exit code.
pub(super) fn read(path: &std::path::Path) -> Result<RunFolder, Exit> {
    let run = RunFolder::read(path).or_exit(Exit::Unreadable)?;
    if let Some(line) = run.torn {
        errln!(
            "note: {}: line {line} of the records is incomplete and was left out",
            path.display()
        );
    }
    Ok(run)
}

fn overview(figures: &Figures) -> String {
    let rate = &figures.pass_rate;
    let (trials, samples) = (counted(figures.trials, "trial"), counted(figures.samples, "sample"));
    format!("{trials} of {samples}  pass_rate {rate}")
}

fn show_difference(one: &Difference) {
    let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let verdict = match (one.pairs, one.difference.half_width(), one.certain) {
        (0, _, _) => "nothing in common",
        (_, None, _) => "too few to tell",
        (_, _, true) => "changed",
        (_, _, false) => "could be chance",
    };
    outln!(
        "{}  {} -> {}  difference {}  {}: {} greater, {} smaller (p {})  {verdict}",
        line(&one.figure),
        value(one.a),
        value(one.b),
        one.difference,
        counted(one.pairs, "pair"),
        one.greater,
        one.smaller,
        number(one.p_value),
    );
}

fn show_flip(flip: &Flip) {
    let word = if flip.pair.b < flip.pair.a { "worse " } else { "better" };
    let (a, b) = (number(flip.pair.a), number(flip.pair.b));
    outln!("  {word}  {a} -> {b}  {}", place(&flip.pair.task));
}

fn place(task: &Task) -> String {
    let mut text = line(&task.scenario).into_owned();
    for (axis, value) in &task.cell {
        text += &format!(", {} {}", line(axis), line(value));
    }
    if let Some(sample) = &task.sample {
        text += &format!(", sample {}", line(sample));
    }
    if let Some(trial) = task.trial {
        text += &format!(", trial {trial}");
    }
    text
}
