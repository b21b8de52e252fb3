//! The verdict on one trial: the evaluation's state, expectations, snapshot; and what is kept of it.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde_json::{Value, json};

use super::{
    TrialReport,
    problem::{Problem, ProblemKind, chain},
};
use crate::{
    assessment::Assessment,
    evaluator::EvaluationError,
    expect::{self, Subject},
    participant::ready::ReadyError,
    scenario::model::Scenario,
    snapshot::{self, SnapshotMode, SnapshotOutcome},
    transcript::{
        Entry, Transcript,
        canonical::{Names, canonical},
    },
};
use bridge_program::Exit;

/// A trial to be judged.
pub(super) struct Case<'a> {
    pub(super) scenario: &'a Scenario,
    /// What is done with its snapshot.
    pub(super) snapshots: SnapshotMode,
    /// Which trial, from 1.
    pub(super) number: u32,
    pub(super) folder: &'a Path,
}

/// What was seen in a trial.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) assessment: Option<Assessment>,
    pub(super) problems: Vec<Problem>,
    /// Roles by origin: each agent has its own and the recorder's in front of it.
    pub(super) parties: BTreeMap<String, String>,
}

/// Judges a trial and writes what is kept of it into its folder.
pub(super) fn judge(
    trial: &Case<'_>,
    transcript: Option<&Transcript>,
    seen: Seen,
    took: Duration,
) -> TrialReport {
    let entries = transcript.map(Transcript::entries);
    let mut problems = seen.problems.clone();
    let assessment = seen.assessment.as_ref();
    problems.extend(assessment.and_then(verdict));
    match &entries {
        Some(Ok(entries)) => problems.extend(compare(trial, entries, &seen, &problems)),
        Some(Err(error)) => problems.push(ProblemKind::Harness.because(chain(error))),
        None => {}
    }
    let results = assessment.map(|said| said.results.clone());
    let report = TrialReport {
        trial: trial.number,
        problems,
        results: results.unwrap_or_default(),
        assessment: seen.assessment,
        parties: seen.parties,
        seconds: took.as_secs_f64(),
        folder: Some(trial.folder.to_owned()),
    };
    keep(trial, report)
}

/// What the evaluator's last word means.
fn verdict(assessment: &Assessment) -> Option<Problem> {
    let kind = match assessment.state.as_str() {
        "completed" => return None,
        "rejected" => ProblemKind::EvaluationRejected,
        _ => ProblemKind::EvaluationFailed,
    };
    let last = assessment.statuses.last();
    let parts = last.and_then(|status| status.pointer("/message/parts")?.as_array());
    let texts = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    Some(kind.because(format!(
        "the evaluation ended as {}: {text}",
        assessment.state
    )))
}

/// What the entries do not hold of what the scenario and its snapshot expect.
fn compare(trial: &Case<'_>, entries: &[Entry], seen: &Seen, so_far: &[Problem]) -> Vec<Problem> {
    let scenario = trial.scenario;
    let mut problems = Vec::new();
    if let Some(assessment) = &seen.assessment {
        let subject = Subject {
            assessment,
            entries,
        };
        let unmet = expect::check(&scenario.harness.expect, &subject);
        let path = scenario.path.display();
        problems.extend(
            unmet
                .iter()
                .map(|unmet| ProblemKind::Assertion.because(format!("{path}:{unmet}"))),
        );
    }
    // How far a run came that could not be carried out is chance; no snapshot holds that.
    if so_far
        .iter()
        .all(|problem| problem.kind.exit() < Exit::Infrastructure)
    {
        problems.extend(compare_snapshot(trial, entries, seen));
    }
    problems
}

fn compare_snapshot(trial: &Case<'_>, entries: &[Entry], seen: &Seen) -> Option<Problem> {
    let settings = trial.scenario.harness.snapshot.as_ref()?;
    let text = canonical(entries, &names(trial.scenario, seen), settings);
    let path = snapshot::path_for(&trial.scenario.path);
    match snapshot::compare(trial.snapshots, &path, &text) {
        Ok(outcome) => different(&path, &outcome),
        Err(error) => Some(ProblemKind::Harness.because(chain(&error))),
    }
}

fn different(path: &Path, outcome: &SnapshotOutcome) -> Option<Problem> {
    let path = path.display();
    let accept = "look at it and accept it with --snapshots accept";
    match outcome {
        SnapshotOutcome::Same | SnapshotOutcome::NotCompared | SnapshotOutcome::Accepted(_) => None,
        SnapshotOutcome::Missing { new } => Some(ProblemKind::Snapshot.because(format!(
            "there is no snapshot {path}; this run's is {}: {accept}",
            new.display()
        ))),
        SnapshotOutcome::Different { diff, new } => Some(ProblemKind::Snapshot.because(format!(
            "the transcript differs from {path}; this run's is {}: {accept}\n{diff}",
            new.display()
        ))),
    }
}

fn names(scenario: &Scenario, seen: &Seen) -> Names {
    Names {
        origins: seen.parties.clone(),
        roles: scenario
            .participants
            .iter()
            .map(|agent| agent.role.clone())
            .collect(),
    }
}

/// Writes `results.json`, as AgentBeats' leaderboards read it, and `report.json`.
fn keep(trial: &Case<'_>, mut report: TrialReport) -> TrialReport {
    let ids: BTreeMap<&str, &str> = trial
        .scenario
        .participants
        .iter()
        .filter_map(|agent| Some((agent.role.as_str(), agent.agentbeats_id.as_deref()?)))
        .collect();
    let results = json!({"participants": ids, "results": report.results});
    let whole = serde_json::to_value(&report).unwrap_or_default();
    for (name, value) in [("results.json", results), ("report.json", whole)] {
        if let Err(error) = write(&trial.folder.join(name), &value) {
            report.problems.push(ProblemKind::Harness.because(error));
        }
    }
    report
}

fn write(path: &Path, value: &Value) -> Result<(), String> {
    let text = format!("{value:#}\n");
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// An agent that ended before it was ready has crashed; one that did not end was never ready.
pub(super) fn not_ready(error: &ReadyError) -> Problem {
    let kind = match error {
        ReadyError::AgentExited { .. } => ProblemKind::AgentCrashed,
        ReadyError::NeverReady { .. } => ProblemKind::NeverReady,
        ReadyError::Client(_) => ProblemKind::Harness,
    };
    kind.because(chain(error))
}

/// An evaluation without an assessment: the green agent refused, or somebody broke the protocol.
pub(super) fn no_assessment(error: &EvaluationError) -> Problem {
    let kind = match error {
        EvaluationError::Green(error) => match &error.fault {
            bridge_client::Fault::Rpc(_) => ProblemKind::EvaluationRejected,
            bridge_client::Fault::Timeout(_) => ProblemKind::Hung,
            _ => ProblemKind::Protocol,
        },
        EvaluationError::Participant { source, .. } => match &source.fault {
            bridge_client::Fault::Rpc(_) => ProblemKind::EvaluationFailed,
            bridge_client::Fault::Timeout(_) => ProblemKind::Hung,
            _ => ProblemKind::Protocol,
        },
        EvaluationError::NotAsked { .. } => ProblemKind::EvaluationFailed,
        EvaluationError::OutOfReach(_) => ProblemKind::Protocol,
        EvaluationError::Evaluator(_) | EvaluationError::NoSuchRole(_) => ProblemKind::Harness,
    };
    kind.because(error)
}
