//! Completes the report of a scenario with the figures of its trials, by which its gates are judged.

use bridge_program::Exit;
use green_agent_scenario::gate::Gates;

use super::{ScenarioReport, ScenarioVerdict};
use crate::{
    gate::{self, GateResult},
    problem::ProblemKind,
    summary::{SummaryBuilder, SummaryOptions},
};

/// Returns the report of a scenario with the figures of its trials and, if it has gates, their results; `bootstrap` is
/// the seed of bootstrap intervals, which are not used for gates.
pub fn completed(
    report: ScenarioReport,
    gates: &Gates,
    trials: &SummaryBuilder,
    bootstrap: Option<u64>,
) -> ScenarioReport {
    let of = |bootstrap: Option<u64>| {
        let options = SummaryOptions { bootstrap, ..SummaryOptions::default() };
        trials.finish(&options).scenarios.pop()
    };
    let Some(own) = of(None) else {
        return report;
    };
    let report = ScenarioReport { means: trials.means(), ..report };
    let report = match gates.is_empty() {
        true => report,
        false => {
            let results = gate::check(gates, &report.path, trials, &own);
            decide(report, results.map_err(|error| error.to_string()))
        }
    };
    // A single trial has no additional figures.
    let summary = match own.figures.trials {
        0 | 1 => None,
        _ if bootstrap.is_some() => of(bootstrap),
        _ => Some(own),
    };
    let summary = summary.map(Box::new);
    ScenarioReport { summary, ..report }
}

/// Lets the gates decide instead of single failed trials. Broken infrastructure is still reported.
fn decide(report: ScenarioReport, results: Result<Vec<GateResult>, String>) -> ScenarioReport {
    let (gates, problems, exit) = match results {
        Ok(results) => {
            let unmet = results.iter().filter(|one| !one.met);
            let problems: Vec<_> =
                unmet.map(|one| ProblemKind::Gate.because(&one.message)).collect();
            let exit = problems.first().map(|_| Exit::Failed);
            (results, problems, exit)
        }
        Err(error) => {
            let problem =
                ProblemKind::Gate.because(format!("cannot read the earlier run: {error}"));
            (Vec::new(), vec![problem], Some(Exit::Unreadable))
        }
    };
    let exit = report.counts.broken.max(exit.unwrap_or_default());
    let verdict = match (report.verdict, exit) {
        (ScenarioVerdict::NotRun, _) => ScenarioVerdict::NotRun,
        (_, Exit::Passed) => ScenarioVerdict::Passed,
        _ => ScenarioVerdict::Failed,
    };
    ScenarioReport { gates, gate_problems: problems, exit, verdict, ..report }
}
