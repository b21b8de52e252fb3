//! One scenario: read it, see to what it requires, run its trials, hold them against its sidecar.

use super::{
    RunOptions, ScenarioReport, TrialReport, Verdict,
    problem::{Problem, ProblemKind},
    requirements::prepare,
    trial,
};
use crate::scenario::{expected::ExpectedFailure, files::Found, parse};
use bridge_program::Exit;

/// Runs one scenario to its report.
pub(super) async fn run(found: &Found, options: &RunOptions) -> ScenarioReport {
    let trials = trials(found, options).await;
    let report = ScenarioReport::new(found.name.clone(), found.path.clone(), trials);
    match &found.sidecar {
        Some(sidecar) if !is_interrupted(&report) => hold_against(sidecar, report),
        Some(_) | None => report,
    }
}

async fn trials(found: &Found, options: &RunOptions) -> Vec<TrialReport> {
    let scenario = match parse::read(&found.path) {
        Ok(scenario) => scenario,
        Err(errors) => {
            let problem = ProblemKind::Unreadable.because(errors);
            return vec![TrialReport::not_begun(problem)];
        }
    };
    let installed = match prepare(&scenario, options).await {
        Ok(installed) => installed,
        Err(problem) => return vec![TrialReport::not_begun(problem)],
    };
    let mut trials = Vec::new();
    for number in 1..=options.trials.unwrap_or(scenario.harness.trials) {
        let trial = trial::run(found, &scenario, &installed, number, options).await;
        let ended = trial
            .problems
            .iter()
            .any(|one| one.kind == ProblemKind::Interrupted);
        trials.push(trial);
        if ended {
            break;
        }
    }
    trials
}

fn is_interrupted(report: &ScenarioReport) -> bool {
    report
        .problems()
        .any(|(_, problem)| problem.kind == ProblemKind::Interrupted)
}

/// A scenario with a sidecar passes if it fails in just that way.
fn hold_against(sidecar: &ExpectedFailure, mut report: ScenarioReport) -> ScenarioReport {
    let exit = u8::from(report.exit);
    let said =
        |(_, problem): (&TrialReport, &Problem)| problem.to_string().contains(&sidecar.message);
    if exit == sidecar.exit && report.problems().any(said) {
        report.verdict = Verdict::FailedAsExpected;
        report.exit = Exit::Passed;
        return report;
    }
    // What is missing on this machine says nothing about how the scenario fails elsewhere.
    if report.verdict == Verdict::NotRun {
        return report;
    }
    let expected = format!(
        "its sidecar expects exit code {} with {:?}, but it ended with exit code {exit}",
        sidecar.exit, sidecar.message
    );
    if let Some(trial) = report.trials.last_mut() {
        trial
            .problems
            .insert(0, ProblemKind::UnexpectedEnd.because(expected));
    }
    report.verdict = Verdict::Failed;
    report.exit = report.exit.max(Exit::Failed);
    report
}
