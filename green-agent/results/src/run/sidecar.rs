//! Compares the report of a scenario that must fail with its sidecar.

use bridge_program::Exit;
use green_agent_scenario::ExpectedFailure;

use super::{ScenarioReport, ScenarioVerdict, TrialReport};
use crate::problem::ProblemKind;

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

    fn held(exits: &[Option<ProblemKind>]) -> ScenarioReport {
        let trial = |kind: &Option<ProblemKind>| TrialReport {
            problems: kind.iter().map(|kind| kind.because("no luck")).collect(),
            ..TrialReport::not_begun(ProblemKind::Harness.because(""))
        };
        let trials = exits.iter().map(trial).collect();
        let sidecar = ExpectedFailure { exit: 1, message: "no luck".to_owned() };
        compare(&sidecar, ScenarioReport::new("a".to_owned(), "a.toml".into(), trials))
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
        let failed = Some(ProblemKind::EvaluationFailed);
        assert_eq!(held(&[failed, failed]).verdict, ScenarioVerdict::FailedAsExpected);
        let one_passed = held(&[failed, None]);
        assert_eq!(one_passed.verdict, ScenarioVerdict::Failed);
        assert_eq!(one_passed.exit, Exit::Failed);
        assert_eq!(one_passed.trials[1].problems[0].kind, ProblemKind::UnexpectedEnd);
    }
}
