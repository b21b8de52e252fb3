//! `green-agent noise`: estimates how much two runs of the same agent differ by chance.

use std::path::PathBuf;

use bridge_program::{Exit, outln, terminal::line};
use clap::Args;
use serde_json::{Value, json};

use super::{
    Paths, complain, diff,
    run::{self, Conditions, Run},
};
use crate::{
    record::RunFolder,
    statistics::{
        compare::{self, Noise as Figures},
        counted, number,
    },
    summary::SummaryBuilder,
};

const EXAMPLES: &str = "\
Examples:
  green-agent noise scenario.toml --trials 20   run the scenario twice and compare the runs
  green-agent noise runs/20261121-230142-26301  estimate the noise of a finished run
  green-agent noise runs/first runs/second      use the trials of two runs of the same agent
  green-agent noise runs/first --detect 0.05    print how many trials detect a difference of 0.05

A run needs at least two trials of a sample, or of a scenario without a dataset.";

/// Estimate how much two runs of the same agent differ by chance, and which difference could be detected
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Noise {
    /// The folder of a run, or a scenario file, which then runs twice
    #[arg(value_name = "RUN|SCENARIO")]
    run: PathBuf,
    /// The folder of a second run of the same agent; the noise is then estimated from the trials of both
    #[arg(value_name = "RUN2")]
    second: Option<PathBuf>,
    /// The number of trials of each sample in each of the two runs [default: that of the run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,
    /// The difference to detect
    #[arg(long, value_name = "DIFFERENCE", value_parser = difference)]
    detect: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    conditions: Conditions,
}

fn difference(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or("expected a number greater than 0, such as 0.05")
}

/// The noise of one figure.
struct Finding {
    figure: String,
    /// Whether a trial has the figure.
    is_measured: bool,
    /// The number of samples, or of scenarios without a dataset, with several trials.
    samples: usize,
    /// The trials of each in the two runs.
    trials: usize,
    noise: Option<Figures>,
    /// The difference between the two given runs.
    seen: Option<f64>,
    /// The number of trials that would show the difference to detect.
    needed: Option<u64>,
}

impl Noise {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let runs = match self.run.is_file() {
            true => self.run_twice(),
            false => Ok((self.run.clone(), self.second.clone())),
        };
        let (run, second) = runs?;
        let second = second.as_deref().map(diff::read).transpose()?;
        let run = diff::read(&run)?;
        let findings = self.findings(&run, second.as_ref());
        match self.json {
            true => outln!("{:#}", Value::from_iter(findings.iter().map(Finding::json))),
            false => findings.iter().for_each(|finding| self.show(finding)),
        }
        Ok(Exit::Passed)
    }

    /// Runs the scenario twice, with the same seeds, and returns the folders of the runs. Failed trials are counted; a
    /// run that could not be carried out ends the command.
    fn run_twice(&self) -> Result<(PathBuf, Option<PathBuf>), Exit> {
        if self.second.is_some() {
            complain(&"expected the folder of a run before RUN2, found a scenario");
            return Err(Exit::Usage);
        }
        let paths = vec![self.run.clone()];
        self.check_trials(&paths)?;
        let run = Run::plain(paths, self.trials, self.conditions.clone(), self.json);
        let stamp = run::stamp();
        let once = |number: u32| match run.execute_as(&format!("{stamp}-{number}"))? {
            (folder, Exit::Passed | Exit::Failed) => Ok(folder),
            (_, exit) => Err(exit),
        };
        Ok((once(1)?, Some(once(2)?)))
    }

    /// Checks that samples have several trials: one trial says nothing of chance.
    fn check_trials(&self, paths: &[PathBuf]) -> Result<(), Exit> {
        let found = Paths { paths: paths.to_vec(), filter: None }.collect()?;
        for one in &found {
            // A scenario that cannot be read is reported when it runs.
            let of_file = || one.source().and_then(|source| source.first()).ok();
            let trials = self.trials.or_else(|| Some(of_file()?.harness.trials));
            if trials == Some(1) {
                let path = one.path.display();
                complain(&format!(
                    "{path}: expected at least 2 trials of each sample, found 1: set --trials, such as --trials 20"
                ));
                return Err(Exit::Usage);
            }
        }
        Ok(())
    }

    fn findings(&self, run: &RunFolder, second: Option<&RunFolder>) -> Vec<Finding> {
        let rows = |run: &RunFolder| SummaryBuilder::of(&run.records);
        let (rows, second) = (rows(run), second.map(rows));
        let names = rows.figures();
        let names = names.into_iter();
        names.map(|name| self.finding(name, &rows, second.as_ref())).collect()
    }

    fn finding(
        &self,
        figure: String,
        rows: &SummaryBuilder,
        second: Option<&SummaryBuilder>,
    ) -> Finding {
        let runs: Vec<&SummaryBuilder> = [rows].into_iter().chain(second).collect();
        let mut samples = SummaryBuilder::by_sample(&runs, &figure);
        let is_measured = samples.iter().flatten().any(|values| !values.is_empty());
        samples.retain(|runs| runs.iter().any(|values| values.len() > 1));
        let most = samples.iter().flatten().map(Vec::len).max().unwrap_or(1);
        let trials = self.trials.map_or(most, |trials| trials as usize);
        let noise = compare::noise(&samples, trials);
        let difference = second.map(|second| rows.difference(second, &figure, None).difference);
        let needed = |noise: &Figures| {
            let wanted = self.detect?;
            // Without any noise, nothing can be said of a smaller one.
            if noise.standard_error == 0.0 {
                return None;
            }
            // The noise falls with the square root of the trials.
            let trials = trials as f64 * (noise.detectable / wanted).powi(2);
            Some(trials.ceil().max(1.0) as u64)
        };
        Finding {
            is_measured,
            samples: samples.len(),
            trials,
            seen: difference.and_then(|difference| difference.mean),
            needed: noise.as_ref().and_then(needed),
            figure,
            noise,
        }
    }

    fn show(&self, finding: &Finding) {
        let name = line(&finding.figure);
        let (samples, trials) = (counted(finding.samples, "sample"), finding.trials);
        match &finding.noise {
            None if !finding.is_measured => {
                outln!("{name}: unknown, because no trial says something about the agent");
            }
            None => outln!("{name}: unknown, because the run has only one trial of each sample"),
            Some(noise) if noise.standard_error == 0.0 => outln!(
                "{name}: all trials of each sample gave the same value ({samples}). Such a run cannot show how \
                 much two runs differ; rare differences need more trials."
            ),
            Some(noise) => outln!(
                "{name}: two runs of the same agent with {trials} trials of each of {samples} differ by up to \
                 {} by chance (in 95 of 100 cases).\n  A smaller difference between two runs says nothing. A true \
                 difference of {} would be found in 4 of 5 comparisons.",
                number(noise.by_chance),
                number(noise.detectable),
            ),
        }
        if let Some(seen) = finding.seen {
            outln!("  These two runs differ by {}.", number(seen.abs()));
        }
        if let (Some(needed), Some(wanted)) = (finding.needed, self.detect) {
            outln!(
                "  To find a difference of {}, run {needed} trials of each sample.",
                number(wanted)
            );
        }
    }
}

impl Finding {
    fn json(&self) -> Value {
        json!({
            "figure": self.figure, "samples": self.samples, "trials": self.trials, "noise": self.noise,
            "seen": self.seen, "trials_needed": self.needed,
        })
    }
}
