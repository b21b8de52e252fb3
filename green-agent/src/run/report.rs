//! What came of a run: the data that every report shows.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

use super::problem::{Problem, ProblemKind};
use crate::assessment::Assessment;
use bridge_program::Exit;

/// What came of one trial of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct TrialReport {
    /// Which trial, from 1.
    pub trial: u32,
    /// What is wrong; nothing if it passed.
    pub problems: Vec<Problem>,
    /// What the evaluator said, if it came so far.
    pub assessment: Option<Assessment>,
    /// The results as AgentBeats collects them.
    pub results: Vec<serde_json::Value>,
    /// Who stood behind each address of the transcript: roles by origin.
    pub parties: BTreeMap<String, String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Where its transcript and the agents' output lie.
    pub folder: Option<PathBuf>,
}

/// How a scenario ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every trial passed.
    Passed,
    /// It failed, as its sidecar says that it must.
    FailedAsExpected,
    /// Some trial did not pass.
    Failed,
    /// It did not run, for want of something that it requires.
    NotRun,
}

/// What came of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// How it ended.
    pub verdict: Verdict,
    /// What it contributes to the program's exit code.
    pub exit: Exit,
    /// Its trials, in order; one for a scenario that could not even start.
    pub trials: Vec<TrialReport>,
    /// The mean of each metric over the trials.
    pub means: BTreeMap<String, f64>,
}

/// What came of everything.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunReport {
    /// Every scenario, in the order of the files.
    pub scenarios: Vec<ScenarioReport>,
    /// What the program exits with.
    pub exit: Exit,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl TrialReport {
    /// A trial that never began.
    pub fn not_begun(problem: Problem) -> Self {
        Self {
            trial: 1,
            problems: vec![problem],
            assessment: None,
            results: Vec::new(),
            parties: BTreeMap::new(),
            seconds: 0.0,
            folder: None,
        }
    }

    /// What it would make the program exit with.
    pub fn exit(&self) -> Exit {
        let exits = self.problems.iter().map(|problem| problem.kind.exit());
        exits.max().unwrap_or_default()
    }
}

impl ScenarioReport {
    /// Sums up the trials.
    pub fn new(name: String, path: PathBuf, trials: Vec<TrialReport>) -> Self {
        let exit = trials
            .iter()
            .map(TrialReport::exit)
            .max()
            .unwrap_or_default();
        let missing = |problem: &Problem| problem.kind == ProblemKind::MissingRequirement;
        let verdict = match exit {
            Exit::Passed => Verdict::Passed,
            _ if trials
                .iter()
                .all(|trial| trial.problems.iter().any(missing)) =>
            {
                Verdict::NotRun
            }
            _ => Verdict::Failed,
        };
        Self {
            means: means(&trials),
            name,
            path,
            verdict,
            exit,
            trials,
        }
    }

    /// Everything that is wrong with it, trial by trial.
    pub fn problems(&self) -> impl Iterator<Item = (&TrialReport, &Problem)> {
        self.trials
            .iter()
            .flat_map(|trial| trial.problems.iter().map(move |one| (trial, one)))
    }
}

impl RunReport {
    /// Sums up the scenarios.
    pub fn new(scenarios: Vec<ScenarioReport>, seconds: f64) -> Self {
        let exit = scenarios
            .iter()
            .map(|scenario| scenario.exit)
            .max()
            .unwrap_or_default();
        Self {
            scenarios,
            exit,
            seconds,
        }
    }

    /// How many scenarios ended so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.scenarios
            .iter()
            .filter(|scenario| scenario.verdict == verdict)
            .count()
    }
}

fn means(trials: &[TrialReport]) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for assessment in trials.iter().filter_map(|trial| trial.assessment.as_ref()) {
        for (name, value) in &assessment.metrics {
            values.entry(name.clone()).or_default().push(*value);
        }
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    values
        .into_iter()
        .map(|(name, values)| (name, mean(values)))
        .collect()
}
