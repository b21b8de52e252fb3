//! Judges the report of a scenario: by its gates and the figures of its trials, or by the sidecar of one that must fail.

use bridge_program::Exit;
use green_agent_scenario::{ExpectedFailure, gate::Gates};

use super::{ScenarioReport, ScenarioVerdict, TrialReport};
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

/// Compares a scenario that must fail with its sidecar.
pub fn judged(report: ScenarioReport, sidecar: Option<&ExpectedFailure>) -> ScenarioReport {
    match sidecar {
        Some(sidecar) if !is_interrupted(&report) => compare(sidecar, report),
        Some(_) | None => report,
    }
}

fn is_interrupted(report: &ScenarioReport) -> bool {
    report.problems().any(|(_, problem)| problem.kind == ProblemKind::Interrupted)
}

/// Compares with a sidecar: the scenario passes if each of its trials fails in the way that the sidecar
/// describes.
fn compare(sidecar: &ExpectedFailure, mut report: ScenarioReport) -> ScenarioReport {
    // A requirement that is missing on this machine does not show how the scenario fails elsewhere.
    let expects_missing = report.trials.iter().all(|trial| is_as_wanted(sidecar, trial));
    if report.verdict == ScenarioVerdict::NotRun && !expects_missing {
        return report;
    }
    let mut fails_as_wanted = true;
    for trial in &mut report.trials {
        if !is_as_wanted(sidecar, trial) {
            fails_as_wanted = false;
            let but = match is_unlike_its_snapshot(sidecar, trial) {
                true => "does not say that the snapshot differs".to_owned(),
                false => format!("it ended with exit code {}", u8::from(trial.exit())),
            };
            let (exit, message) = (sidecar.exit, &sidecar.message);
            let expected =
                format!("its sidecar expects exit code {exit} with {message:?}, but {but}");
            let problem = ProblemKind::UnexpectedEnd.because(expected);
            trial.add(problem);
        }
    }
    if fails_as_wanted {
        report.verdict = ScenarioVerdict::FailedAsExpected;
        report.exit = Exit::Passed;
    } else {
        report.verdict = ScenarioVerdict::Failed;
        report.exit = report.exit.max(Exit::Failed);
    }
    report
}

fn is_as_wanted(sidecar: &ExpectedFailure, trial: &TrialReport) -> bool {
    let mut problems = trial.problems.iter();
    u8::from(trial.exit()) == sidecar.exit
        && problems.any(|problem| problem.to_string().contains(&sidecar.message))
        && !is_unlike_its_snapshot(sidecar, trial)
}

/// Returns whether the transcript unexpectedly differs from the accepted one.
fn is_unlike_its_snapshot(sidecar: &ExpectedFailure, trial: &TrialReport) -> bool {
    let mut problems = trial.problems.iter();
    problems.any(|problem| {
        problem.kind == ProblemKind::Snapshot && !problem.to_string().contains(&sidecar.message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        problem::Outcome,
        record::{TrialRecord, tests::record},
        summary::PASS_RATE,
    };
    use green_agent_scenario::gate::{Comparison, Condition, FigureGate};

    fn report(kinds: &[Option<ProblemKind>]) -> ScenarioReport {
        let trial = |kind: &Option<ProblemKind>| TrialReport {
            problems: kind.iter().map(|kind| kind.because("no luck")).collect(),
            ..TrialReport::not_begun(ProblemKind::Harness.because(""))
        };
        let trials = kinds.iter().map(trial).collect();
        ScenarioReport::new("debate".to_owned(), "a.toml".into(), trials)
    }

    #[test]
    fn a_scenario_that_must_fail_is_compared_with_its_snapshot_too() {
        let report = |message: &str| {
            let mut trial =
                TrialReport::not_begun(ProblemKind::EvaluationFailed.because("no luck"));
            trial.add(ProblemKind::Snapshot.because("another transcript"));
            let sidecar = ExpectedFailure { exit: 1, message: message.to_owned() };
            let report = ScenarioReport::new("a".to_owned(), "a.toml".into(), vec![trial]);
            compare(&sidecar, report)
        };
        let unlike = report("no luck");
        assert_eq!(unlike.verdict, ScenarioVerdict::Failed);
        let mut problems = unlike.trials[0].problems.iter();
        let said = problems.find(|problem| problem.kind == ProblemKind::UnexpectedEnd);
        let said = said.unwrap().to_string();
        assert!(said.contains("but does not say that the snapshot differs"), "{said}");
        assert_eq!(report("another transcript").verdict, ScenarioVerdict::FailedAsExpected);
    }

    #[test]
    fn each_trial_has_to_fail_as_the_sidecar_says() {
        let [failed, crashed, missing, interrupted] = [
            ProblemKind::EvaluationFailed,
            ProblemKind::Harness,
            ProblemKind::MissingRequirement,
            ProblemKind::Interrupted,
        ]
        .map(Some);
        let (as_expected, unlike) = (ScenarioVerdict::FailedAsExpected, ScenarioVerdict::Failed);
        for (expected, message, kinds, verdict, exit) in [
            (1, "no luck", &[failed, failed][..], as_expected, Exit::Passed),
            (1, "no luck", &[failed, None], unlike, Exit::Failed),
            (1, "no luck", &[None, None], unlike, Exit::Failed),
            (1, "no luck", &[crashed], unlike, Exit::Infrastructure),
            (1, "bad luck", &[failed], unlike, Exit::Failed),
            (4, "no luck", &[crashed], as_expected, Exit::Passed),
            // What is missing on this machine says nothing, unless it must be missing.
            (1, "no luck", &[missing], ScenarioVerdict::NotRun, Exit::Infrastructure),
            (4, "no luck", &[missing], as_expected, Exit::Passed),
            // The user ended it, so that it is not compared.
            (4, "no luck", &[interrupted], unlike, Exit::Infrastructure),
        ] {
            let sidecar = ExpectedFailure { exit: expected, message: message.to_owned() };
            let judged = judged(report(kinds), Some(&sidecar));
            assert_eq!((judged.verdict, judged.exit), (verdict, exit), "{kinds:?}, {sidecar:?}");
            let mut told = judged.problems().map(|(_, problem)| problem.kind);
            let is_told = told.any(|kind| kind == ProblemKind::UnexpectedEnd);
            let is_compared = verdict == unlike && kinds != [interrupted];
            assert_eq!(is_told, is_compared, "{kinds:?}, {sidecar:?}");
        }
    }

    #[test]
    fn gates_decide_about_failed_trials_but_not_about_broken_ones() {
        let [failed, broken, missing] =
            [ProblemKind::GoalMissed, ProblemKind::Harness, ProblemKind::MissingRequirement]
                .map(Some);
        for (kinds, least, verdict, exit) in [
            ([None, failed], 0.5, ScenarioVerdict::Passed, Exit::Passed),
            ([None, failed], 0.6, ScenarioVerdict::Failed, Exit::Failed),
            ([None, broken], 0.5, ScenarioVerdict::Failed, Exit::Infrastructure),
            ([failed, broken], 0.5, ScenarioVerdict::Failed, Exit::Infrastructure),
            ([missing, missing], 0.5, ScenarioVerdict::NotRun, Exit::Infrastructure),
        ] {
            let record = |(at, kind): (usize, &Option<ProblemKind>)| TrialRecord {
                trial: at as u32 + 1,
                outcome: kind.map_or(Outcome::Passed, |kind| kind.because("no luck").outcome()),
                ..record(&at.to_string(), 1)
            };
            let records: Vec<TrialRecord> = kinds.iter().enumerate().map(record).collect();
            let conditions = vec![Condition { comparison: Comparison::Ge, number: least }];
            let figures = vec![FigureGate { figure: PASS_RATE.to_owned(), conditions }];
            let gates = Gates { figures, ..Gates::default() };
            let judged = completed(report(&kinds), &gates, &SummaryBuilder::of(&records), None);
            assert_eq!((judged.verdict, judged.exit), (verdict, exit), "{kinds:?}, {least}");
            let unmet = judged.gates.iter().filter(|gate| !gate.met).count();
            assert_eq!(judged.gate_problems.len(), unmet, "{kinds:?}, {least}");
        }
    }
}
