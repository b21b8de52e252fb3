//! The figures of a scenario's trials while it runs: whether more trials are needed, and whether its gates are met.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bridge_program::Exit;

use super::{ProblemKind, ScenarioReport, Verdict};
use crate::{
    gate::{self, GateResult, Stopper},
    record::TrialRecord,
    scenario::{gate::Gates, model::Scenario},
    summary::{SummaryBuilder, SummaryOptions},
};

/// The figures of one scenario, in slim rows: records are not kept.
pub(super) struct ScenarioFigures {
    summary: Mutex<SummaryBuilder>,
    stopper: Option<Mutex<Stopper>>,
}

impl ScenarioFigures {
    /// Begins without a trial.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let when = scenario.harness.stop_when.clone();
        Self {
            summary: Mutex::default(),
            stopper: when.map(|when| Mutex::new(Stopper::new(when))),
        }
    }

    /// Adds an attempt that has ended.
    pub(super) fn add(&self, record: &TrialRecord) {
        locked(&self.summary).add(record);
        if let Some(stopper) = &self.stopper {
            locked(stopper).add(record);
        }
    }

    /// Returns why no more trials of a cell need to start, if so.
    pub(super) fn stop_reason(&self, cell: &BTreeMap<String, String>) -> Option<String> {
        let stopper = self.stopper.as_ref()?;
        locked(stopper).reason(cell).map(str::to_owned)
    }

    /// Returns the report with its figures and, if the scenario has gates, their results.
    pub(super) fn complete(&self, gates: &Gates, report: ScenarioReport) -> ScenarioReport {
        completed(report, gates, &locked(&self.summary), None)
    }
}

/// Returns the report of a scenario with the figures of its trials and, if it has gates, their results;
/// `bootstrap` is the seed of bootstrap intervals, by which no gate is judged.
pub(super) fn completed(
    report: ScenarioReport,
    gates: &Gates,
    trials: &SummaryBuilder,
    bootstrap: Option<u64>,
) -> ScenarioReport {
    let of = |bootstrap: Option<u64>| {
        let options = SummaryOptions {
            bootstrap,
            ..SummaryOptions::default()
        };
        trials.finish(&options).scenarios.pop()
    };
    let Some(own) = of(None) else {
        return report;
    };
    let report = match gates.is_empty() {
        true => report,
        false => {
            let results = gate::check(gates, &report.path, trials, &own);
            decide(report, results.map_err(|error| error.to_string()))
        }
    };
    // A single trial has no figures beside its own.
    let summary = match own.figures.trials {
        0 | 1 => None,
        _ if bootstrap.is_some() => of(bootstrap),
        _ => Some(own),
    };
    let summary = summary.map(Box::new);
    ScenarioReport { summary, ..report }
}

/// Has the gates decide in place of single trials that failed. Infrastructure that broke stays what it is.
fn decide(report: ScenarioReport, results: Result<Vec<GateResult>, String>) -> ScenarioReport {
    let trials = report.trials.iter().map(super::TrialReport::exit);
    let broken = trials.filter(|exit| *exit != Exit::Failed).max();
    let (gates, problems, exit) = match results {
        Ok(results) => {
            let unmet = results.iter().filter(|one| !one.met);
            let problems: Vec<_> = unmet
                .map(|one| ProblemKind::Gate.because(&one.message))
                .collect();
            let exit = problems.first().map(|_| Exit::Failed);
            (results, problems, exit)
        }
        Err(error) => {
            let problem =
                ProblemKind::Gate.because(format!("cannot read the earlier run: {error}"));
            (Vec::new(), vec![problem], Some(Exit::Unreadable))
        }
    };
    let exit = broken.max(exit).unwrap_or_default();
    let verdict = match (report.verdict, exit) {
        (Verdict::NotRun, _) => Verdict::NotRun,
        (_, Exit::Passed) => Verdict::Passed,
        _ => Verdict::Failed,
    };
    ScenarioReport {
        gates,
        gate_problems: problems,
        exit,
        verdict,
        ..report
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
