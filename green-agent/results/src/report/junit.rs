//! JUnit's XML, which most systems for continuous integration show: a test suite for each scenario and cell, a test
//! case for each trial. Earlier attempts of a trial are reruns of its case. A gate, and the sidecar of a scenario
//! that must fail, has its own case; because it decides instead of single trials, failed trials are skipped, so that the failures
//! agree with the run's exit code.
//! Jenkins' xUnit plugin refuses files with elements or attributes that its schema lacks, so that none are added.

use std::{collections::BTreeMap, io, time::Duration};

use bridge_program::Exit;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::{
    source::{Decision, ReportSource},
    text::name_of,
};
use crate::{
    problem::{Outcome, Owner, Problem},
    record::TrialRecord,
};

/// The trials of a scenario about which a decision has its own case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decided {
    /// None: each trial is judged by its own case.
    Nothing,
    /// Those that say something about the agent, by gates.
    ScoredTrials,
    /// All, by a sidecar.
    AllTrials,
}

/// Returns the document.
pub(super) fn of(run: &ReportSource) -> io::Result<String> {
    let mut report = Report::new(&run.name);
    report.set_time(duration(run.seconds()));
    let mut earlier: BTreeMap<&str, Vec<&TrialRecord>> = BTreeMap::new();
    for record in &run.folder.records[run.counted..] {
        earlier.entry(&record.key).or_default().push(record);
    }
    let decisions = run.decisions();
    let mut records = run.counted().iter().peekable();
    for group in &run.groups {
        let decided = match Decision::of_sidecar(&decisions, &group.scenario) {
            Some(_) => Decided::AllTrials,
            None if run.has_gates(&group.scenario) => Decided::ScoredTrials,
            None => Decided::Nothing,
        };
        let mut suite = TestSuite::new(group.name());
        suite.set_time(duration(group.figures.seconds));
        for record in records.by_ref().take(group.figures.trials) {
            let reruns = earlier.remove(record.key.as_str()).unwrap_or_default();
            suite.add_test_case(case(record, &reruns, group.name(), decided));
        }
        report.add_test_suite(suite);
    }
    let mut suites: BTreeMap<(String, &str), TestSuite> = BTreeMap::new();
    for decision in &decisions {
        let (scenario, about) = (decision.scenario.clone(), decision.about.title());
        let suite = suites.entry((scenario, about));
        let suite = suite
            .or_insert_with_key(|(scenario, about)| TestSuite::new(format!("{scenario}: {about}")));
        suite.add_test_case(decision_case(decision));
    }
    for suite in suites.into_values() {
        report.add_test_suite(suite);
    }
    let text = report.to_string().map_err(io::Error::other)?;
    Ok(without_skipped_of_all(text))
}

/// Leaves out how many cases of all suites were skipped: Jenkins' xUnit plugin refuses a file that says it.
fn without_skipped_of_all(mut text: String) -> String {
    let begin = text.find(" skipped=\"");
    let end = begin.and_then(|begin| Some(begin + text[begin..].find("\" ")? + 1));
    if let (Some(begin), Some(end)) = (begin, end) {
        text.replace_range(begin..end, "");
    }
    text
}

/// Returns the case of a decision. Its name has no figures, so that systems find the same case in every run.
fn decision_case(decision: &Decision) -> TestCase {
    let mut status = match decision.met {
        true => TestCaseStatus::success(),
        false => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    let text = decision.text.as_str();
    status.set_type(decision.about.title()).set_message(text);
    let mut case = TestCase::new(decision.demand.as_str(), status);
    case.set_classname(decision.scenario.as_str());
    if decision.met {
        case.set_system_out(text);
    }
    case
}

fn case(
    record: &TrialRecord,
    earlier: &[&TrialRecord],
    suite: String,
    decided: Decided,
) -> TestCase {
    let sample = record.sample.as_ref().map(|sample| format!("sample {sample} "));
    let name = format!("{}trial {}", sample.unwrap_or_default(), record.trial);
    let mut status = status(record, decided);
    for record in earlier {
        let mut rerun = TestRerun::new(kind(record));
        if let Some(problem) = record.problems.first() {
            rerun.set_type(problem.kind.title()).set_message(first_line(problem));
            rerun.set_description(problem.to_string());
        }
        status.add_rerun(rerun);
    }
    let mut case = TestCase::new(name, status);
    case.set_classname(suite).set_time(duration(record.seconds));
    // Not as properties of the case, which the schema of Jenkins' xUnit plugin does not have.
    let metrics = record.metrics.iter();
    let metrics: Vec<String> = metrics.map(|(name, value)| format!("{name}: {value}")).collect();
    if !metrics.is_empty() {
        case.set_system_out(metrics.join("\n"));
    }
    case
}

fn status(record: &TrialRecord, decided: Decided) -> TestCaseStatus {
    let all: Vec<String> = record
        .problems
        .iter()
        .map(|problem| format!("{problem} (fault: {})", name_of(problem.owner)))
        .collect();
    let mut status = match record.outcome {
        Outcome::Passed if record.exit == Exit::Passed => return TestCaseStatus::success(),
        Outcome::NotRun | Outcome::Interrupted if record.exit == Exit::Passed => {
            TestCaseStatus::skipped()
        }
        _ if decided == Decided::AllTrials => TestCaseStatus::skipped(),
        Outcome::Passed | Outcome::Failed | Outcome::AgentError
            if decided == Decided::ScoredTrials =>
        {
            TestCaseStatus::skipped()
        }
        _ => TestCaseStatus::non_success(kind(record)),
    };
    if let Some(problem) = record.problems.first() {
        status.set_type(problem.kind.title()).set_message(first_line(problem));
        status.set_description(all.join("\n"));
    }
    status
}

/// Returns a failure for the agent's fault, and an error for all other faults.
fn kind(record: &TrialRecord) -> NonSuccessKind {
    let mut owners = record.problems.iter().map(|problem| problem.owner);
    match record.outcome {
        // The first snapshot is missing, or the evaluator did not say what it had to.
        Outcome::Passed | Outcome::Failed if owners.all(|owner| owner != Owner::Agent) => {
            NonSuccessKind::Error
        }
        outcome if outcome.is_scored() => NonSuccessKind::Failure,
        _ => NonSuccessKind::Error,
    }
}

/// Returns a time in seconds, which in a record of another program may be impossible.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn first_line(problem: &Problem) -> String {
    problem.to_string().lines().next().unwrap_or_default().to_owned()
}
