//! The input of reports: a run's folder, with the figures of its records.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Serialize;

use bridge_program::shell_word;
use green_agent_scenario::ExpectedFailure;

use super::text::percent;
use crate::{
    problem::{Outcome, ProblemKind},
    record::{ManifestScenario, RecordError, RunFolder, TrialRecord},
    run::{RunReport, ScenarioReport, ScenarioVerdict, tally::NoteTally},
    statistics::{Estimate, pass::PassAtK},
    summary::{Figures, RunSummary, ScenarioSummary, outcomes_text},
};

/// A run to report on.
#[derive(Debug)]
pub struct ReportSource {
    /// The name of its folder.
    pub name: String,
    /// Its folder. Of the records, those that count come first, in the order of scenario, cell, sample and trial.
    pub folder: RunFolder,
    /// The number of records that count; the others were followed by another attempt of the same trial.
    pub counted: usize,
    /// The figures of each scenario and cell, in the order of the run.
    pub groups: Vec<Group>,
    /// The figures of all trials together.
    pub all: Group,
    /// The seed of bootstrap intervals; `None` for Student's.
    pub bootstrap: Option<u64>,
}

/// A decision about a run besides its trials: a gate, the sidecar of a scenario that must fail, or trials that have not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The scenario's name.
    pub scenario: String,
    /// The subject of the decision.
    pub about: DecisionKind,
    /// The condition, in the same words in every run.
    pub demand: String,
    /// Whether the condition is met.
    pub met: bool,
    /// The result in a sentence.
    pub text: String,
}

/// The kinds of [`Decision`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionKind {
    /// A gate, which is met or not.
    Gate,
    /// Whether a scenario that must fail did so as its sidecar describes.
    ExpectedFailure,
    /// Trials that have not ended.
    UnendedTrials,
}

impl DecisionKind {
    /// Returns the kind in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::ExpectedFailure => "expected failure",
            Self::UnendedTrials => "trials that have not ended",
        }
    }
}

impl Decision {
    /// Finds the decision about a scenario that must fail.
    pub fn of_sidecar<'d>(decisions: &'d [Self], scenario: &str) -> Option<&'d Self> {
        let is_its =
            |one: &&Self| one.about == DecisionKind::ExpectedFailure && one.scenario == scenario;
        decisions.iter().find(is_its)
    }

    /// Returns the scenario, the subject and the result in one sentence.
    pub fn sentence(&self) -> String {
        let Self { scenario, text, .. } = self;
        match (self.about, self.met) {
            (DecisionKind::Gate, true) => format!("{scenario}: gate met: {text}"),
            (DecisionKind::Gate, false) => format!("{scenario}: gate not met: {text}"),
            (DecisionKind::ExpectedFailure | DecisionKind::UnendedTrials, _) => {
                format!("{scenario}: {text}")
            }
        }
    }
}

/// The figures of the trials of one scenario in one cell of its matrix.
#[derive(Clone, Debug)]
pub struct Group {
    /// The scenario's name.
    pub scenario: String,
    /// The cell as text, such as `model=small`; empty without a matrix.
    pub cell: String,
    /// The figures of the trials that count.
    pub figures: Figures,
    /// pass@k and pass^k for the greatest k, up to 8, for which every sample has enough trials; `None` if that is 1.
    pub pass: Option<PassAtK>,
}

impl Group {
    /// Returns scenario and cell in one text.
    pub fn name(&self) -> String {
        match self.cell.is_empty() {
            true => self.scenario.clone(),
            false => format!("{}, {}", self.scenario, self.cell),
        }
    }

    /// Returns the number of passed trials of those that the rate counts: `24 of 32`.
    pub fn passed(&self) -> String {
        format!("{} of {}", self.count(Outcome::Passed), self.figures.pass_rate.n)
    }

    /// Returns pass@k and pass^k with their k; empty if there are none.
    pub fn pass(&self) -> [String; 2] {
        let Some(pass) = &self.pass else {
            return Default::default();
        };
        [pass.any, pass.all].map(|share| format!("{} (k={})", percent(share), pass.k))
    }

    /// Returns the number of trials with each outcome.
    pub fn outcomes(&self) -> String {
        outcomes_text(&self.figures.outcomes, self.figures.stopped_early)
    }

    /// Returns the metrics that some trials have.
    pub fn metrics(&self) -> BTreeMap<&str, &Estimate> {
        let metrics = self.figures.metrics.iter();
        let metrics = metrics.filter(|(_, estimate)| estimate.mean.is_some());
        metrics.map(|(name, estimate)| (name.as_str(), estimate)).collect()
    }

    /// Returns the number of trials that have ended and need not run again.
    fn ended(&self) -> usize {
        self.figures.trials - self.count(Outcome::Interrupted)
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.figures.outcomes.get(&outcome).copied().unwrap_or_default()
    }
}

impl ReportSource {
    /// Reads the folder of a run, with the seed of bootstrap intervals if these are requested.
    ///
    /// # Errors
    /// If it is not the folder of a run, or one of its files is damaged.
    pub fn read(path: &Path, bootstrap: Option<u64>) -> Result<Self, RecordError> {
        Ok(Self::new(&RunFolder::read(path)?, bootstrap))
    }

    /// Creates the input of reports from a folder that was read.
    pub fn new(folder: &RunFolder, bootstrap: Option<u64>) -> Self {
        let counted = folder.counted();
        let records = counted.iter().copied().chain(folder.retried()).cloned().collect();
        let summary = RunSummary::of(folder, bootstrap);
        let groups = groups(&counted, &summary);
        let total = &summary.total;
        let all = Group::new(String::new(), String::new(), total, greatest_k(total));
        let name = folder.path.canonicalize().unwrap_or_else(|_| folder.path.clone());
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            name: name.unwrap_or_else(|| "run".to_owned()),
            folder: RunFolder {
                path: folder.path.clone(),
                manifest: folder.manifest.clone(),
                records,
                torn: None,
            },
            counted: counted.len(),
            groups,
            all,
            bootstrap,
        }
    }

    /// Returns the records that count.
    pub fn counted(&self) -> &[TrialRecord] {
        &self.folder.records[..self.counted]
    }

    /// Returns the results of all scenarios, with those of their gates.
    pub fn report(&self) -> RunReport {
        RunReport::of(&self.folder, self.bootstrap)
    }

    /// Returns the decisions besides trials: for each scenario the number of trials that have not ended, and its gates or its
    /// sidecar.
    pub fn decisions(&self) -> Vec<Decision> {
        let scenarios = &self.folder.manifest.scenarios;
        let is_decided = |one: &ManifestScenario| !one.gate.is_empty() || one.must_fail.is_some();
        let reports = match scenarios.iter().any(is_decided) {
            true => self.report().scenarios,
            false => Vec::new(),
        };
        let of = |scenario: &ManifestScenario| {
            let report = reports.iter().find(|one| one.name == scenario.name);
            let failure = report.and_then(|report| expected_failure(scenario, report));
            let gates = report.into_iter().flat_map(|one| &one.gates);
            let gates = gates.map(|gate| Decision {
                scenario: scenario.name.clone(),
                about: DecisionKind::Gate,
                demand: gate.demand.clone(),
                met: gate.met,
                text: gate.message.clone(),
            });
            self.unended(scenario).into_iter().chain(failure).chain(gates).collect::<Vec<_>>()
        };
        scenarios.iter().flat_map(of).collect()
    }

    /// Returns what the authors of the scenarios should know although trials passed, in a sentence for each scenario.
    pub fn notes(&self) -> Vec<String> {
        let mut tallies: BTreeMap<&str, NoteTally> = BTreeMap::new();
        for (at, record) in self.counted().iter().enumerate() {
            if let Some(note) = &record.note {
                tallies.entry(&record.scenario).or_default().add(at, note);
            }
        }
        let texts = tallies.iter().filter_map(|(name, tally)| Some((name, tally.text()?)));
        texts.map(|(name, text)| format!("{name}: {text}")).collect()
    }

    /// Returns whether gates decide about a scenario, instead of single failed trials.
    pub fn has_gates(&self, scenario: &str) -> bool {
        let scenarios = &self.folder.manifest.scenarios;
        scenarios.iter().any(|one| one.name == scenario && !one.gate.is_empty())
    }

    fn unended(&self, scenario: &ManifestScenario) -> Option<Decision> {
        let path = shell_word(&self.folder.path);
        let to_continue = format!("to continue: green-agent run --resume {path}");
        let unended = |text: String| Decision {
            scenario: scenario.name.clone(),
            about: DecisionKind::UnendedTrials,
            demand: "all trials have ended".to_owned(),
            met: false,
            text,
        };
        let missing = &self.folder.manifest.missing;
        let parts: Vec<String> = missing.iter().map(ToString::to_string).collect();
        match &parts[..] {
            [] => {}
            [part] => return Some(unended(format!("no run has the part {part}; {to_continue}"))),
            parts => {
                let parts = parts.join(", ");
                return Some(unended(format!("no run has the parts {parts}; {to_continue}")));
            }
        }
        let wanted = scenario.trials?;
        let groups = self.groups.iter();
        let its = groups.filter(|group| group.scenario == scenario.name);
        let ended: usize = its.map(Group::ended).sum();
        (ended < wanted)
            .then(|| unended(format!("only {ended} of {wanted} trials have ended; {to_continue}")))
    }

    /// Returns the folder of a trial's transcript.
    pub fn folder_of(&self, record: &TrialRecord) -> Option<PathBuf> {
        record.folder_below(&self.folder.path)
    }

    /// Returns the duration of the run in seconds.
    pub fn seconds(&self) -> f64 {
        self.folder.seconds()
    }
}

/// Returns the decision about a scenario that must fail; `None` about one that did not run or was interrupted.
fn expected_failure(scenario: &ManifestScenario, report: &ScenarioReport) -> Option<Decision> {
    let ExpectedFailure { exit, message } = scenario.must_fail.as_ref()?;
    let mut problems = report.problems();
    let other = problems.find(|(_, problem)| problem.kind == ProblemKind::UnexpectedEnd);
    let text = match other {
        Some((_, problem)) => problem.to_string(),
        None if report.verdict == ScenarioVerdict::FailedAsExpected => {
            format!("failed with exit code {exit} and {message:?}, as its sidecar expects")
        }
        None => return None,
    };
    Some(Decision {
        scenario: scenario.name.clone(),
        about: DecisionKind::ExpectedFailure,
        demand: "fails as its sidecar expects".to_owned(),
        met: other.is_none(),
        text,
    })
}

/// Returns a cell as text: `model=small, policy=greedy`.
pub fn cell_name(cell: &BTreeMap<String, String>) -> String {
    let axes: Vec<String> = cell.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    axes.join(", ")
}

/// Returns the figures of each scenario and cell, in the order of the records.
fn groups(counted: &[&TrialRecord], summary: &RunSummary) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for record in counted {
        let cell = cell_name(&record.cell);
        let last = groups.last();
        if last.is_some_and(|last| last.scenario == record.scenario && last.cell == cell) {
            continue;
        }
        let scenario = summary.scenario(&record.scenario);
        let cells = scenario.map(ScenarioSummary::by_cell).unwrap_or_default();
        // Cells stand one below the other, and pass@k of another k is another figure.
        let k = cells.iter().filter_map(|(_, figures)| greatest_k(figures)).min();
        let mut figures = cells.into_iter().filter(|(of, _)| **of == record.cell);
        if let Some((_, figures)) = figures.next() {
            groups.push(Group::new(record.scenario.clone(), cell, figures, k));
        }
    }
    groups
}

impl Group {
    /// Returns the figures of a cell, with pass@k and pass^k for this k unless it is 1, which is the pass rate.
    fn new(scenario: String, cell: String, figures: &Figures, k: Option<usize>) -> Self {
        let pass = figures.pass_at_k.iter().find(|at| at.k > 1 && Some(at.k) == k).cloned();
        Self { scenario, cell, figures: figures.clone(), pass }
    }
}

/// The greatest k that is shown. For a greater one, most samples give 0 or 1.
const MOST_K: usize = 8;

/// Returns the greatest k for which every sample has enough trials, or `None` if no trial is scored.
fn greatest_k(figures: &Figures) -> Option<usize> {
    let samples = figures.pass_at_k.first()?.samples;
    let mut few = figures.pass_at_k.iter().take(MOST_K);
    few.rfind(|at| at.samples == samples).map(|at| at.k)
}
