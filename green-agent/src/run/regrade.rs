//! Judges the trials of a finished run again by the scenario's present expectations, from their transcripts and
//! recorded assessments.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    RunLogError, criterion,
    failed_calls::failed_calls,
    judge,
    log::scenarios_of,
    problem::{Problem, ProblemKind},
    report::TRIAL_REPORT,
};
use crate::{
    assessment::Assessment,
    evaluator::{self, TurnsError},
    problem::Outcome,
    record::{RecordError, RunFolder, TrialRecord},
    scenario::{ScenarioErrors, ScenarioSource, model::Scenario, source::cell_texts},
    transcript::{self, TranscriptError},
};

/// A trial that was judged again.
#[derive(Clone, Debug)]
pub struct Regraded {
    /// Its record with the new outcome and the new problems.
    pub record: TrialRecord,
    /// The former outcome.
    pub was: Outcome,
    /// The new assessment, if it is not the former one.
    assessment: Option<Box<Assessment>>,
}

/// A run that was judged again.
#[derive(Clone, Debug)]
pub struct RegradedRun {
    /// The counted trials.
    pub trials: Vec<Regraded>,
    /// The run with their new records, and with the present gates of its scenarios.
    pub run: RunFolder,
}

/// The reason why a run cannot be judged again.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RegradeError {
    /// The scenario files do not exist any more.
    #[error(transparent)]
    Log(#[from] RunLogError),
    /// A scenario cannot be read.
    #[error("{0}")]
    Scenario(ScenarioErrors),
    /// The scenario no longer has a sample or a cell.
    #[error("{0}: the scenario no longer has this sample with the same content in this cell")]
    NoSample(String),
    /// The report in a trial's folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Report { path: PathBuf, error: String },
    /// The turns of a conversation cannot be judged again.
    #[error("{trial}: {error}")]
    Turns { trial: String, error: TurnsError },
    /// A transcript cannot be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}

/// Judges the counted trials of a run again. Trials that did not end with an assessment stay as they are.
///
/// # Errors
/// If the scenarios, a transcript or a report of a trial cannot be read, or a sample is no longer there.
pub fn regrade(run: &RunFolder) -> Result<RegradedRun, RegradeError> {
    let mut trials = Vec::new();
    let mut manifest = run.manifest.clone();
    for (found, listed) in scenarios_of(&run.manifest)?.iter().zip(&mut manifest.scenarios) {
        let counted = run.counted().into_iter();
        let records: Vec<_> = counted.filter(|one| one.scenario == found.name).collect();
        let first = found.source().and_then(|source| Ok((source.first()?.harness.gate, source)));
        let (gate, source) = match first {
            Ok(read) => read,
            // There is nothing to judge by it.
            Err(_) if records.iter().all(|one| one.state.is_none()) => {
                trials.extend(records.into_iter().map(unchanged));
                continue;
            }
            Err(errors) => return Err(RegradeError::Scenario(errors)),
        };
        listed.gate = gate;
        for record in records {
            trials.push(match record.state {
                Some(_) => judged(&run.path, &source, record)?,
                None => unchanged(record),
            });
        }
    }
    let counted = trials.iter().map(|one| &one.record);
    let records = run.retried().into_iter().chain(counted).cloned().collect();
    let run = RunFolder { path: run.path.clone(), manifest, records, torn: None };
    Ok(RegradedRun { trials, run })
}

fn unchanged(record: &TrialRecord) -> Regraded {
    Regraded { record: record.clone(), was: record.outcome, assessment: None }
}

impl Regraded {
    /// Writes the new outcome into the files of the trial's folder below that of the run, where copies of the former ones are.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn rewrite(&self, run: &Path) -> Result<(), RecordError> {
        let Self { record, assessment, .. } = self;
        let folder = record.folder_below(run).filter(|_| record.state.is_some());
        let Some(folder) = folder else {
            return Ok(());
        };
        change(&folder.join(TRIAL_REPORT), |report| {
            report.insert("outcome".to_owned(), json!(record.outcome));
            report.insert("problems".to_owned(), json!(record.problems));
            match &record.note {
                Some(note) => report.insert("note".to_owned(), json!(note)),
                None => report.remove("note"),
            };
            if let Some(assessment) = assessment {
                report.insert("assessment".to_owned(), json!(assessment));
                report.insert("results".to_owned(), json!(record.results));
            }
        })?;
        if assessment.is_none() {
            return Ok(());
        }
        change(&folder.join(judge::RESULTS), |results| {
            results.insert("results".to_owned(), json!(record.results));
        })
    }
}

/// Changes a file that is a JSON object.
fn change(path: &Path, with: impl FnOnce(&mut Map<String, Value>)) -> Result<(), RecordError> {
    let unread = |error| RecordError::Read { path: path.to_owned(), error };
    let bytes = fs::read(path).map_err(unread)?;
    let mut document = serde_json::from_slice(&bytes).map_err(|error| unread(error.into()))?;
    with(&mut document);
    let text = format!("{:#}\n", Value::Object(document));
    let unwritten = |error| RecordError::Write { path: path.to_owned(), error };
    transcript::replace_file(path, text.as_bytes()).map_err(unwritten)
}

fn judged(
    run: &Path,
    source: &ScenarioSource,
    record: &TrialRecord,
) -> Result<Regraded, RegradeError> {
    let scenario = scenario_of(source, record)?;
    let folder = record.folder_below(run).ok_or_else(|| RegradeError::Report {
        path: record.folder.as_deref().unwrap_or_default().into(),
        error: "it is not a folder below the run's".to_owned(),
    })?;
    let entries = transcript::read(&folder.join("transcript.jsonl"))?;
    let known = assessment(&folder)?;
    let assessment = evaluator::judged_again(&scenario.green, known.clone(), &entries);
    let mut assessment = assessment.map_err(|error| {
        let trial = record.title();
        RegradeError::Turns { trial, error }
    })?;
    let others = record.problems.iter().filter(|one| !is_judgement(one.kind));
    let mut problems: Vec<Problem> = others.cloned().collect();
    let failed = failed_calls(&scenario, &entries);
    let again = judge::judge_again(&scenario, &mut assessment, entries, &problems);
    problems.extend(again);
    let outcome = problems.iter().map(Problem::outcome).max();
    let exit = problems.iter().map(Problem::exit).max();
    let has_snapshot = !source.is_filled();
    let note = criterion::note(&scenario, has_snapshot, &assessment).or(failed);
    let note = note.filter(|_| problems.is_empty());
    let is_another = assessment != known;
    Ok(Regraded {
        was: record.outcome,
        assessment: is_another.then(|| Box::new(assessment.clone())),
        record: TrialRecord {
            outcome: outcome.unwrap_or_default(),
            exit: exit.unwrap_or_default(),
            problems,
            note,
            state: Some(assessment.state),
            metrics: assessment.metrics,
            results: assessment.results,
            ..record.clone()
        },
    })
}

/// Returns the scenario of a trial, with the row and the cell of the recorded trial.
fn scenario_of(source: &ScenarioSource, record: &TrialRecord) -> Result<Scenario, RegradeError> {
    let cells = source.cells();
    let cell = cells.iter().find(|cell| cell_texts(cell) == record.cell);
    let rows = source.rows();
    let row = rows.iter().find(|row| {
        let (name, digest) = (row.map(|row| &row.name), row.map(|row| &row.digest));
        name == record.sample.as_ref() && digest == record.sample_digest.as_ref()
    });
    let (Some(cell), Some(row)) = (cell, row) else {
        let trial = record.title();
        return Err(RegradeError::NoSample(trial));
    };
    source.scenario(cell, *row).map_err(RegradeError::Scenario)
}

/// Returns whether a problem of this kind follows from the transcript and the assessment.
fn is_judgement(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::Assertion
            | ProblemKind::EvaluationFailed
            | ProblemKind::EvaluationRejected
            | ProblemKind::MissingMetric
            | ProblemKind::GoalMissed
    )
}

/// The part of a trial's report that is judged.
#[derive(Deserialize)]
struct JudgedPart {
    assessment: Assessment,
    results: Vec<Value>,
}

fn assessment(folder: &Path) -> Result<Assessment, RegradeError> {
    let path = folder.join(TRIAL_REPORT);
    let read = || {
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        serde_json::from_slice::<JudgedPart>(&bytes).map_err(|error| error.to_string())
    };
    match read() {
        Ok(kept) => Ok(Assessment { results: kept.results, ..kept.assessment }),
        Err(error) => Err(RegradeError::Report { path, error }),
    }
}
