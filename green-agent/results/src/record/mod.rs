//! The records of a run: its manifest, and one line for each trial as it ends. All reports about a run can be made from
//! them and from the transcripts beside them.
//!
//! - `run.json`: a [`Manifest`], written before the first trial
//! - `records.jsonl`: a [`TrialRecord`] a line, appended by a [`RecordWriter`]
//! - [`RunFolder`] reads both

mod folder;
mod manifest;
mod merge;
mod reader;
mod writer;

use std::{
    collections::BTreeMap,
    io,
    ops::AddAssign,
    path::{Component, Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use bridge_program::Exit;

pub use self::{
    folder::RunFolder,
    manifest::{Manifest, ManifestScenario, RunFlags, RunSettings, Shard},
    merge::{DuplicateTrial, MergeError, Merged, check_new, copy_trial, merge},
    reader::{ReadRecords, read_records},
    writer::{RecordWriter, is_written},
};
pub(crate) use self::{reader::read_whole_records, writer::lines};
use crate::problem::{Outcome, Problem};

/// The version of records and manifests that this program writes. It reads this version and older ones.
pub const VERSION: u32 = 1;

/// The name of the manifest's file in a run's folder.
pub const MANIFEST: &str = "run.json";

/// The name of the records' file in a run's folder.
pub const RECORDS: &str = "records.jsonl";

/// One attempt at one trial, as a line of `records.jsonl`. Secrets are masked as in the transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// The version of this form. A program refuses a later one than its own.
    pub version: u32,
    /// The digest of the trial's meaning: scenario, sample, cell, seed and trial. It does not depend on addresses,
    /// paths or times. 32 hexadecimal digits.
    pub key: String,
    /// The scenario's name.
    pub scenario: String,
    /// The digest of the scenario as read, without addresses and paths: `sha256:...`. Empty if the scenario
    /// could not be read.
    pub scenario_digest: String,
    /// The row of the dataset: its `id`, or its number from 1. Absent without a dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// The digest of the row: `sha256:...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_digest: Option<String>,
    /// The cell of the matrix: the value of each axis, as text. Empty without a matrix.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cell: BTreeMap<String, String>,
    /// The number of the trial among those of the same scenario, sample and cell, from 1.
    pub trial: u32,
    /// The seed of the trial.
    pub seed: u64,
    /// The number of the attempt, from 1. The last one of a key counts.
    pub attempt: u32,
    /// The outcome of the trial.
    pub outcome: Outcome,
    /// The exit code that this trial alone would cause.
    #[schemars(with = "u8")]
    pub exit: Exit,
    /// The problems; empty if the trial passed.
    pub problems: Vec<Problem>,
    /// Tells the author of the scenario that the trial passed without a score, and how the score is named; that all calls of
    /// a server's tools failed; or that the results are too large for this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The state of the evaluation, such as `completed`; absent without an assessment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The numbers that the evaluator or the runner measured, by name. JSON has no NaN and no infinity: such a
    /// number is written as `null`, and read as NaN.
    #[serde(deserialize_with = "numbers")]
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub metrics: BTreeMap<String, f64>,
    /// The results as AgentBeats collects them.
    pub results: Vec<Value>,
    /// The tokens that agents reported, summed over the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The start of the attempt: RFC 3339 in UTC, with milliseconds.
    pub started: String,
    /// The duration in seconds.
    pub seconds: f64,
    /// The duration of each phase in seconds: `starting`, `waiting`, `evaluating`, `stopping`.
    pub phases: BTreeMap<String, f64>,
    /// The folder of the transcript and the agents' output, relative to the run's folder. Absent if nothing
    /// was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The party behind each address of the transcript: roles by origin (scheme, host and port), and by whole addresses of
    /// agents that share an origin.
    pub parties: BTreeMap<String, String>,
}

impl TrialRecord {
    /// Returns whether anything was started. A trial that was only planned, such as one whose requirements are missing, is
    /// no attempt.
    pub fn was_tried(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns the trial's folder below the folder of its run. A record of another machine must not name a path outside of
    /// that.
    pub fn folder_below(&self, run: &Path) -> Option<PathBuf> {
        let folder = Path::new(self.folder.as_ref()?);
        let mut parts = folder.components().peekable();
        let is_named = parts.peek().is_some();
        let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
        (is_named && is_below).then(|| run.join(folder))
    }

    /// Returns the trial for people: its scenario, cell, sample and number.
    pub fn title(&self) -> String {
        let mut title = self.scenario.clone();
        for (axis, value) in &self.cell {
            title += &format!(" {axis}={value}");
        }
        if let Some(sample) = &self.sample {
            title += &format!(" sample {sample}");
        }
        title += &format!(" trial {}", self.trial);
        if self.attempt > 1 {
            title += &format!(" attempt {}", self.attempt);
        }
        title
    }
}

/// The tokens of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// The tokens of all agents.
    #[serde(flatten)]
    pub all: TokenCounts,
    /// The tokens of each agent, by role.
    pub by_role: BTreeMap<String, TokenCounts>,
}

/// The tokens of one agent, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCounts {
    /// The tokens that models read.
    pub input_tokens: u64,
    /// The tokens that models wrote.
    pub output_tokens: u64,
    /// All tokens; more than the sum of the two if a model counts others too.
    pub total_tokens: u64,
}

/// Adds the tokens of another agent or trial. Agents may report arbitrary numbers, so that the sums do not overflow.
impl AddAssign for TokenCounts {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
    }
}

/// The reason why a run's folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RecordError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    /// The folder has no manifest.
    #[error("{}: not the folder of a run; expected the file run.json in it", .0.display())]
    NotARun(PathBuf),
    /// Another program writes this run.
    #[error("{}: another program is still writing this run", .0.display())]
    InUse(PathBuf),
    /// The manifest is damaged.
    #[error("{}: expected a run's manifest as JSON: {error}", path.display())]
    Manifest { path: PathBuf, error: serde_json::Error },
    /// A line is not a record.
    #[error("{}:{line}: expected a trial's record as JSON: {error}", path.display())]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        error: serde_json::Error,
    },
    /// A line is longer than any record may be.
    #[error("{}:{line}: expected a record of at most {limit} bytes", path.display())]
    TooLong {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        limit: u64,
    },
    /// A later program wrote the file.
    #[error(
        "{}:{line}: version {found} is newer than this program, which reads up to version {known}",
        path.display()
    )]
    Newer {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        found: u32,
        known: u32,
    },
}

fn numbers<'de, D: Deserializer<'de>>(reader: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let read = BTreeMap::<String, Option<f64>>::deserialize(reader)?;
    let numbers = read.into_iter();
    Ok(numbers.map(|(name, number)| (name, number.unwrap_or(f64::NAN))).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the record of a trial that passed.
    pub(crate) fn record(key: &str, attempt: u32) -> TrialRecord {
        TrialRecord {
            version: VERSION,
            key: key.to_owned(),
            scenario: "debate".to_owned(),
            scenario_digest: "sha256:00".to_owned(),
            sample: None,
            sample_digest: None,
            cell: BTreeMap::new(),
            trial: 1,
            seed: 0,
            attempt,
            outcome: Outcome::Passed,
            exit: Exit::Passed,
            problems: Vec::new(),
            note: None,
            state: Some("completed".to_owned()),
            metrics: BTreeMap::from([("score".to_owned(), 1.0)]),
            results: Vec::new(),
            usage: None,
            started: "2026-01-01T00:00:00.000Z".to_owned(),
            seconds: 0.5,
            phases: BTreeMap::new(),
            folder: Some("debate/trial-1".to_owned()),
            parties: BTreeMap::new(),
        }
    }

    #[test]
    fn a_record_of_a_later_program_may_have_more_fields() {
        let mut value = serde_json::to_value(record("a", 1)).unwrap();
        value["mood"] = "good".into();
        let read: TrialRecord = serde_json::from_value(value).unwrap();
        assert_eq!(read, record("a", 1));
    }

    #[test]
    fn a_metric_that_is_no_number_does_not_make_its_run_unreadable() {
        let record = TrialRecord {
            metrics: BTreeMap::from([
                ("score".to_owned(), f64::NAN),
                ("steps".to_owned(), 3.0),
                ("speed".to_owned(), f64::INFINITY),
            ]),
            ..record("a", 1)
        };
        let written = serde_json::to_string(&record).unwrap();
        let read: TrialRecord = serde_json::from_str(&written).unwrap();
        assert!(read.metrics["score"].is_nan() && read.metrics["speed"].is_nan());
        assert_eq!(read.metrics["steps"], 3.0);
    }
}
