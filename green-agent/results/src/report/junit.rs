//! JUnit's XML, which most systems for continuous integration show: a test suite for each scenario and cell, a test
//! case for each trial. Earlier attempts of a trial are reruns of its case. A gate has its own case; because it decides
//! instead of single trials, failed trials are skipped, so that the failures agree with the run's exit code.

use std::{collections::BTreeMap, io, time::Duration};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::source::{Decision, ReportSource, cell_name};
use crate::{
    problem::{Outcome, Problem},
    record::TrialRecord,
};

/// Returns the document.
///
/// # Errors
/// If it cannot be written as XML.
pub(super) fn of(run: &ReportSource) -> io::Result<String> {
    let mut report = Report::new(&run.name);
    report.set_time(Duration::from_secs_f64(run.seconds()));
    let mut earlier: BTreeMap<&str, Vec<&TrialRecord>> = BTreeMap::new();
    for record in &run.records[run.counted..] {
        earlier.entry(&record.key).or_default().push(record);
    }
    let mut records = run.counted().iter().peekable();
    for group in &run.groups {
        let is_gated = run.has_gates(&group.scenario);
        let mut suite = TestSuite::new(group.name());
        suite.set_time(Duration::from_secs_f64(group.seconds));
        for record in records.by_ref().take(group.trials) {
            let reruns = earlier.remove(record.key.as_str()).unwrap_or_default();
            suite.add_test_case(case(record, &reruns, group.name(), is_gated));
        }
        report.add_test_suite(suite);
    }
    for decision in run.decisions() {
        let Decision {
            scenario,
            about,
            text,
            ..
        } = &decision;
        let mut status = match decision.met {
            true => TestCaseStatus::success(),
            false => TestCaseStatus::non_success(NonSuccessKind::Failure),
        };
        status.set_type(about.title()).set_message(text.as_str());
        let mut case = TestCase::new(text.as_str(), status);
        case.set_classname(scenario.as_str());
        let mut suite = TestSuite::new(format!("{scenario}: {}", about.title()));
        suite.add_test_case(case);
        report.add_test_suite(suite);
    }
    report.to_string().map_err(io::Error::other)
}

fn case(record: &TrialRecord, earlier: &[&TrialRecord], suite: String, is_gated: bool) -> TestCase {
    let sample = record
        .sample
        .as_ref()
        .map(|sample| format!("sample {sample} "));
    let name = format!("{}trial {}", sample.unwrap_or_default(), record.trial);
    let mut status = status(record, is_gated);
    for record in earlier {
        let mut rerun = TestRerun::new(kind(record.outcome));
        if let Some(problem) = record.problems.first() {
            rerun
                .set_type(problem.kind.title())
                .set_message(first_line(problem));
            rerun.set_description(problem.to_string());
        }
        rerun.set_time(Duration::from_secs_f64(record.seconds));
        status.add_rerun(rerun);
    }
    let mut case = TestCase::new(name, status);
    case.set_classname(suite)
        .set_time(Duration::from_secs_f64(record.seconds));
    if !cell_name(&record.cell).is_empty() {
        case.add_property(("cell", cell_name(&record.cell).as_str()));
    }
    for (name, value) in &record.metrics {
        case.add_property((
            format!("metric.{name}").as_str(),
            value.to_string().as_str(),
        ));
    }
    case
}

fn status(record: &TrialRecord, is_gated: bool) -> TestCaseStatus {
    let all: Vec<String> = record
        .problems
        .iter()
        .map(|problem| format!("{problem} (fault: {})", owner(problem)))
        .collect();
    let mut status = match record.outcome {
        Outcome::Passed => return TestCaseStatus::success(),
        Outcome::NotRun | Outcome::Interrupted => TestCaseStatus::skipped(),
        Outcome::Failed | Outcome::AgentError if is_gated => TestCaseStatus::skipped(),
        Outcome::Failed
        | Outcome::AgentError
        | Outcome::ModelError
        | Outcome::EvaluatorError
        | Outcome::EnvironmentError
        | Outcome::HarnessError => TestCaseStatus::non_success(kind(record.outcome)),
    };
    if let Some(problem) = record.problems.first() {
        status
            .set_type(problem.kind.title())
            .set_message(first_line(problem));
        status.set_description(all.join("\n"));
    }
    status
}

/// Returns a failure for the agent's fault, and an error for all other faults.
fn kind(outcome: Outcome) -> NonSuccessKind {
    match outcome {
        Outcome::Passed | Outcome::Failed | Outcome::AgentError => NonSuccessKind::Failure,
        Outcome::ModelError
        | Outcome::EvaluatorError
        | Outcome::EnvironmentError
        | Outcome::HarnessError
        | Outcome::NotRun
        | Outcome::Interrupted => NonSuccessKind::Error,
    }
}

fn first_line(problem: &Problem) -> String {
    problem
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn owner(problem: &Problem) -> String {
    let name = serde_json::to_value(problem.owner).ok();
    name.and_then(|name| Some(name.as_str()?.to_owned()))
        .unwrap_or_default()
}
