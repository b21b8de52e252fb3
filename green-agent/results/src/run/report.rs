//! The results of a run: the data that every report shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    completed, judged,
    tally::{TrialCounts, TrialTally},
};
use crate::{
    assessment::{Assessment, COMPLETED},
    gate::GateResult,
    problem::{Outcome, Problem},
    record::{ManifestScenario, RunFolder, TrialRecord, Usage},
    summary::{self, ScenarioSummary, SummaryBuilder},
};
use bridge_program::Exit;

/// The result of one trial of a scenario.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct TrialReport {
    /// The row of the dataset; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// The value of each axis of the matrix; empty without one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cell: BTreeMap<String, String>,
    /// The number of the trial, from 1.
    pub trial: u32,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The problems; empty if the trial passed.
    pub problems: Vec<Problem>,
    /// Tells the author of the scenario that the trial passed without a score, and how the score is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The outcome, which follows from the problems.
    pub outcome: Outcome,
    /// The evaluator's assessment, if there is one.
    pub assessment: Option<Assessment>,
    /// The results as AgentBeats collects them.
    pub results: Vec<serde_json::Value>,
    /// The party behind each address of the transcript: roles by origin (scheme, host and port), and by whole addresses of
    /// agents that share an origin.
    pub parties: BTreeMap<String, String>,
    /// The start of the attempt: RFC 3339 in UTC. Empty if it did not begin.
    pub started: String,
    /// The duration in seconds.
    pub seconds: f64,
    /// The duration of each phase in seconds.
    pub phases: BTreeMap<String, f64>,
    /// The tokens that agents and models reported, if any did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The folder of its transcript and the agents' output.
    pub folder: Option<PathBuf>,
    /// The number of other trials that failed alike and whose reports are not kept.
    #[serde(skip)]
    pub alike: usize,
}

/// The verdict on a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioVerdict {
    /// Every trial passed.
    Passed,
    /// It failed in the way that its sidecar describes.
    FailedAsExpected,
    /// At least one trial did not pass.
    Failed,
    /// It did not run, because a requirement is missing.
    NotRun,
}

/// The result of a scenario.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The verdict.
    pub verdict: ScenarioVerdict,
    /// Its contribution to the program's exit code.
    #[schemars(with = "u8")]
    pub exit: Exit,
    /// Its trials, in order, with the evaluator's messages when they are serialized. A scenario that could not start
    /// has one.
    #[serde(serialize_with = "whole_trials")]
    pub trials: Vec<TrialReport>,
    /// The counts of all its trials.
    #[serde(skip)]
    pub counts: TrialCounts,
    /// The number of trials by outcome.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// The mean of each metric over the trials that say something about the agent: those that passed, failed,
    /// or ended by the agent's own error, which counts as 0. All others are counted in `outcomes` only.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub means: BTreeMap<String, f64>,
    /// The figures of all trials, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Box<ScenarioSummary>>,
    /// The results of its gates, which decide instead of single failed trials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
    /// Tells the author of the scenario how many trials passed without a score, and how the score is named; and that no trial
    /// has the metric of `stop_when`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A problem for each gate that is not met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate_problems: Vec<Problem>,
}

/// The file of a trial's report in its folder.
pub const TRIAL_REPORT: &str = "report.json";

/// The result of a whole run.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RunReport {
    /// Every scenario, in the order of the files.
    pub scenarios: Vec<ScenarioReport>,
    /// The exit code of the program.
    #[schemars(with = "u8")]
    pub exit: Exit,
    /// The duration in seconds, from the beginning of the run, before anything is installed, until its last trial has ended.
    pub seconds: f64,
}

impl TrialReport {
    /// Returns the report of a trial that did not begin.
    pub fn not_begun(problem: Problem) -> Self {
        Self {
            trial: 1,
            attempt: 1,
            outcome: problem.outcome(),
            problems: vec![problem],
            started: super::now(),
            ..Self::default()
        }
    }

    /// Returns the report of a trial that was recorded earlier, below the run's `folder`.
    pub fn of(record: &TrialRecord, folder: &Path) -> Self {
        Self {
            sample: record.sample.clone(),
            cell: record.cell.clone(),
            trial: record.trial,
            attempt: record.attempt,
            problems: record.problems.clone(),
            note: record.note.clone(),
            outcome: record.outcome,
            assessment: record.state.as_ref().map(|state| Assessment {
                state: state.clone(),
                metrics: record.metrics.clone(),
                ..Assessment::default()
            }),
            // They are in the trial's folder too, which may not have been copied with the records.
            results: record.results.clone(),
            parties: record.parties.clone(),
            started: record.started.clone(),
            seconds: record.seconds,
            phases: record.phases.clone(),
            usage: record.usage.clone(),
            folder: record.folder_below(folder),
            alike: 0,
        }
    }

    /// Returns the report without the evaluator's messages, which stay in the trial's folder: memory must not grow with
    /// them.
    pub fn slim(mut self) -> Self {
        if self.folder.is_none() {
            return self;
        }
        if let Some(assessment) = &mut self.assessment {
            assessment.statuses = Vec::new();
            assessment.artifacts = Vec::new();
        }
        self.results = Vec::new();
        self.parties = BTreeMap::new();
        self
    }

    /// Adds a problem, which is shown first.
    pub fn add(&mut self, problem: Problem) {
        self.outcome = self.outcome.max(problem.outcome());
        self.problems.insert(0, problem);
    }

    /// Returns the exit code that this trial alone would cause.
    pub fn exit(&self) -> Exit {
        let exits = self.problems.iter().map(Problem::exit);
        exits.max().unwrap_or_default()
    }

    /// Returns the value that enters a metric's mean; `None` if the trial says nothing about the agent. An
    /// agent that crashed or hung has 0.
    fn metric(&self, name: &str) -> Option<f64> {
        let assessment = self.assessment.as_ref();
        let completed = assessment.is_some_and(|said| said.state == COMPLETED);
        let measured = assessment.and_then(|said| said.metrics.get(name).copied());
        self.outcome.counted(name, measured, completed)
    }
}

impl ScenarioReport {
    /// Combines the reports of the trials.
    pub fn new(name: String, path: PathBuf, trials: Vec<TrialReport>) -> Self {
        let mut tally = TrialTally::new(true);
        for (at, trial) in trials.into_iter().enumerate() {
            tally.add(at, trial);
        }
        Self::of(name, path, tally)
    }

    /// Combines a tally of the trials. The means are those of the trials whose reports are kept.
    pub fn of(name: String, path: PathBuf, tally: TrialTally) -> Self {
        let note = tally.note();
        let (outcomes, counts, trials) = tally.into_parts();
        let verdict = match counts.exit {
            Exit::Passed => ScenarioVerdict::Passed,
            _ if counts.missing == counts.trials => ScenarioVerdict::NotRun,
            _ => ScenarioVerdict::Failed,
        };
        Self {
            means: means(&trials),
            summary: None,
            gates: Vec::new(),
            gate_problems: Vec::new(),
            note,
            outcomes,
            name,
            path,
            verdict,
            exit: counts.exit,
            trials,
            counts,
        }
    }

    /// Returns the report with the problem of a gate that is not the agent's fault.
    #[must_use]
    pub fn with_broken_gate(mut self, problem: Problem) -> Self {
        self.gate_problems.push(problem);
        self.exit = self.exit.max(Exit::Infrastructure);
        if self.verdict != ScenarioVerdict::NotRun {
            self.verdict = ScenarioVerdict::Failed;
        }
        self
    }

    /// Returns all problems, trial by trial.
    pub fn problems(&self) -> impl Iterator<Item = (&TrialReport, &Problem)> {
        self.trials.iter().flat_map(|trial| trial.problems.iter().map(move |one| (trial, one)))
    }
}

impl RunReport {
    /// Combines the reports of the scenarios.
    pub fn new(scenarios: Vec<ScenarioReport>, seconds: f64) -> Self {
        let exit = scenarios.iter().map(|scenario| scenario.exit).max().unwrap_or_default();
        Self { scenarios, exit, seconds }
    }

    /// Returns the report of a finished run; `bootstrap` is the seed of bootstrap intervals.
    pub fn of(run: &RunFolder, bootstrap: Option<u64>) -> Self {
        let (counted, scenarios) = (run.counted(), run.manifest.scenarios.iter());
        let reports = scenarios.filter_map(|one| scenario(run, &counted, one, bootstrap));
        Self::new(reports.collect(), run.seconds())
    }

    /// Returns the report with every recorded trial. Other trials, such as those that could not begin before the run
    /// was interrupted, follow if their reports were kept.
    #[must_use]
    pub fn with_recorded(mut self, run: &RunFolder) -> Self {
        let counted = run.counted();
        for scenario in &mut self.scenarios {
            if scenario.trials.len() == scenario.counts.trials {
                continue;
            }
            let mut trials = trials(run, &counted, &scenario.name);
            let place =
                |trial: &TrialReport| (trial.cell.clone(), trial.sample.clone(), trial.trial);
            let recorded: BTreeSet<_> = trials.iter().map(place).collect();
            let others = std::mem::take(&mut scenario.trials).into_iter();
            trials.extend(others.filter(|trial| !recorded.contains(&place(trial))));
            scenario.trials = trials;
        }
        self
    }

    /// Returns the number of scenarios with this verdict.
    pub fn count(&self, verdict: ScenarioVerdict) -> usize {
        self.scenarios.iter().filter(|scenario| scenario.verdict == verdict).count()
    }
}

/// Returns the report of a scenario of a run, if it has trials.
fn scenario(
    run: &RunFolder,
    counted: &[&TrialRecord],
    one: &ManifestScenario,
    bootstrap: Option<u64>,
) -> Option<ScenarioReport> {
    let trials = trials(run, counted, &one.name);
    if trials.is_empty() {
        return None;
    }
    let report = ScenarioReport::new(one.name.clone(), (&one.path).into(), trials);
    if one.must_fail.is_some() {
        return Some(judged(report, one.must_fail.as_ref()));
    }
    let attempts = run.records.iter().filter(|record| record.scenario == one.name);
    Some(completed(report, &one.gate, &SummaryBuilder::of(attempts), bootstrap))
}

fn trials(run: &RunFolder, counted: &[&TrialRecord], scenario: &str) -> Vec<TrialReport> {
    let counted = counted.iter().filter(|record| record.scenario == scenario);
    counted.map(|record| TrialReport::of(record, &run.path)).collect()
}

/// The parts of a trial's report that are kept only in its folder, since they may be large.
const KEPT: [&str; 3] = ["assessment", "results", "parties"];

fn whole_trials<S: Serializer>(trials: &[TrialReport], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(trials.iter().map(complete_report))
}

/// Returns the report of a trial with the parts that are kept in its folder, if they can be read.
fn complete_report(trial: &TrialReport) -> Value {
    let mut report = serde_json::to_value(trial).unwrap_or_default();
    let kept = trial.folder.as_ref().map(|folder| folder.join(TRIAL_REPORT));
    let kept = kept.and_then(|path| fs::read(path).ok());
    let kept: Option<Value> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(mut kept) = kept {
        for name in KEPT {
            if let Some(part) = kept.get_mut(name) {
                report[name] = part.take();
            }
        }
    }
    report
}

fn means(trials: &[TrialReport]) -> BTreeMap<String, f64> {
    let scored = || trials.iter().filter(|trial| trial.outcome.is_scored());
    let names = scored()
        .filter_map(|trial| trial.assessment.as_ref())
        .flat_map(|assessment| assessment.metrics.keys());
    let values = |name: &str| scored().filter_map(|trial| trial.metric(name)).collect();
    summary::means(names.map(String::as_str), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        problem::{Owner, ProblemKind},
        record::Manifest,
    };
    use green_agent_scenario::gate::Gates;
    use serde_json::json;

    fn trial(score: Option<f64>, problem: Option<Problem>) -> TrialReport {
        let metrics = score.map(|score| ("score".to_owned(), score));
        TrialReport {
            assessment: Some(Assessment {
                metrics: metrics.into_iter().collect(),
                ..Assessment::default()
            }),
            outcome: problem.as_ref().map_or(Outcome::Passed, Problem::outcome),
            problems: problem.into_iter().collect(),
            ..TrialReport::not_begun(ProblemKind::Harness.because(""))
        }
    }

    fn report(trials: Vec<TrialReport>) -> ScenarioReport {
        ScenarioReport::new("a".to_owned(), "a.toml".into(), trials)
    }

    #[test]
    fn an_agent_that_crashed_scores_nothing() {
        let crash = || Some(ProblemKind::Crashed.because("x"));
        let mut trials: Vec<_> = (0..4).map(|_| trial(None, crash())).collect();
        trials.push(trial(Some(1.0), None));
        let report = report(trials);
        assert_eq!(report.means["score"], 0.2);
        let outcomes = [(Outcome::Passed, 1), (Outcome::AgentError, 4)];
        assert_eq!(report.outcomes, BTreeMap::from(outcomes));
        assert_eq!(report.exit, Exit::Failed);
    }

    #[test]
    fn a_broken_machine_enters_no_score_and_is_counted() {
        let broken = ProblemKind::Hung.because("x").owned_by(Owner::Environment);
        let report = report(vec![trial(Some(0.0), Some(broken)), trial(Some(1.0), None)]);
        assert_eq!(report.means["score"], 1.0);
        assert_eq!(report.outcomes[&Outcome::EnvironmentError], 1);
        assert_eq!(report.exit, Exit::Infrastructure);
    }

    #[test]
    fn the_worst_of_all_problems_decides_about_the_exit_code() {
        let mut both = trial(None, Some(ProblemKind::Harness.because("x")));
        both.add(ProblemKind::GoalMissed.because("y"));
        assert_eq!((both.outcome, both.exit()), (Outcome::HarnessError, Exit::Infrastructure));
        let failed = || trial(None, Some(ProblemKind::GoalMissed.because("x")));
        for (scenarios, exit) in [
            (vec![], Exit::Passed),
            (vec![report(vec![trial(None, None)]), report(vec![failed()])], Exit::Failed),
            (vec![report(vec![both]), report(vec![failed()])], Exit::Infrastructure),
        ] {
            assert_eq!(RunReport::new(scenarios, 0.0).exit, exit);
        }
    }

    #[test]
    fn a_metric_without_a_value_that_counts_has_no_mean() {
        let mut crashed = trial(None, Some(ProblemKind::Crashed.because("x")));
        let metrics = BTreeMap::from([("steps".to_owned(), 3.0)]);
        crashed.assessment = Some(Assessment { metrics, ..Assessment::default() });
        assert_eq!(report(vec![crashed]).means, BTreeMap::new());
    }

    #[test]
    fn results_are_those_of_the_record_if_the_folder_is_gone() {
        let record = TrialRecord {
            results: vec![json!({"score": 1})],
            ..crate::record::tests::record("a", 1)
        };
        let mut manifest = Manifest::begun(String::new());
        manifest.scenarios.push(ManifestScenario {
            name: "debate".to_owned(),
            path: "debate.toml".to_owned(),
            digest: None,
            must_fail: None,
            trials: Some(1),
            gate: Gates::default(),
        });
        let (path, records) = ("nowhere".into(), vec![record]);
        let run = RunFolder { path, manifest, records, torn: None };
        let report = serde_json::to_value(RunReport::of(&run, None)).unwrap();
        assert_eq!(report["scenarios"][0]["trials"][0]["results"], json!([{"score": 1}]));
    }

    #[test]
    fn the_report_of_a_trial_elsewhere_is_not_read() {
        let record = |folder: &str| TrialRecord {
            folder: Some(folder.to_owned()),
            ..crate::record::tests::record("a", 1)
        };
        let of = |folder| TrialReport::of(&record(folder), Path::new("runs/1")).folder;
        assert_eq!(of("a/trial-1"), Some("runs/1/a/trial-1".into()));
        assert_eq!(of("../../secret"), None);
    }
}
