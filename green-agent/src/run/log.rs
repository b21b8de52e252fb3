//! The log of a run: its folder with the manifest and the records. A resumed run continues the records of the trials
//! that have ended.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::{masked_agents, plan::Plan};
use crate::{
    problem::Outcome,
    record::{
        MANIFEST, Manifest, ManifestScenario, RECORDS, RecordError, RecordWriter, RunFlags,
        RunFolder, RunSettings, TrialRecord,
    },
    scenario::{ScenarioFile, supplied::AgentOverrides},
};

/// The folder and the records of a running run.
#[derive(Debug)]
pub struct RunLog {
    folder: PathBuf,
    writer: RecordWriter,
    /// The earlier records by key, in their order.
    earlier: BTreeMap<String, Vec<TrialRecord>>,
    /// Whether the run was resumed: there may be folders of trials that did not end.
    pub(super) is_resumed: bool,
}

/// The reason why a run cannot begin or be resumed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RunLogError {
    /// The folder cannot be made.
    #[error("cannot make the folder {}: {error}; --runs DIR names another place for runs", path.display())]
    Folder { path: PathBuf, error: io::Error },
    /// The folder is that of a run that began earlier. Its manifest would be lost, and its records mixed with others.
    #[error("{}: a run began here earlier; resume it, or name another folder", .0.display())]
    Begun(PathBuf),
    /// The manifest or the records cannot be read or written.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// A scenario file does not exist any more.
    #[error(
        "{0}: no such file; a run is resumed or judged again in the folder in which it was started, with its scenarios"
    )]
    NoScenario(String),
    /// A scenario has changed since the run began.
    #[error(
        "{0}: not as it was when the run began, so the trials cannot be reported together; begin another run"
    )]
    Changed(String),
    /// A trial has ended that the scenario does not have any more: its row has changed or is gone, or there are fewer
    /// trials. Another trial may have its place in the folder of the run.
    #[error(
        "{scenario}{}: trial {trial} has ended, but the scenario has no such trial any more, so the trials cannot be \
         reported together; restore the row of the dataset, the value of the matrix or the number of trials, or begin \
         another run",
        sample.as_ref().map(|sample| format!(", sample {sample}")).unwrap_or_default()
    )]
    NoTrial { scenario: String, sample: Option<String>, trial: u32 },
}

impl RunLog {
    /// Makes the folder of a run that begins now and writes its manifest, in which the secrets of agents are masked.
    ///
    /// # Errors
    /// If something cannot be written, or the folder is that of an earlier run.
    pub fn begin(
        folder: &Path,
        found: &[ScenarioFile],
        settings: RunSettings,
        flags: RunFlags,
        overrides: &AgentOverrides,
    ) -> Result<Self, RunLogError> {
        fs::create_dir_all(folder)
            .map_err(|error| RunLogError::Folder { path: folder.to_owned(), error })?;
        let scenarios = found.iter().map(|one| listed(one, &settings, overrides));
        let scenarios: Vec<ManifestScenario> = scenarios.collect();
        let settings = RunSettings { agents: masked_agents(&settings.agents), ..settings };
        let manifest = Manifest { scenarios, settings, flags, ..Manifest::begun(super::now()) };
        // A reader of the manifest can see from the records whether the run is still running.
        let writer = RecordWriter::open(&folder.join(RECORDS))?;
        if folder.join(MANIFEST).exists() {
            return Err(RunLogError::Begun(folder.to_owned()));
        }
        manifest.write(folder)?;
        Ok(Self { folder: folder.to_owned(), writer, earlier: BTreeMap::new(), is_resumed: false })
    }

    /// Resumes the run in a folder with these flags. Its gates are those of the present files, like its trials, and its
    /// manifest is updated.
    ///
    /// # Errors
    /// If it is not the folder of a run, another program writes to it, its files are damaged, or a scenario has
    /// changed.
    pub fn resume(
        folder: &Path,
        found: &[ScenarioFile],
        flags: RunFlags,
        overrides: &AgentOverrides,
    ) -> Result<Self, RunLogError> {
        // The file is opened first, so that no other program writes what is read below.
        let mut manifest = Manifest::read(folder)?;
        let writer = RecordWriter::open(&folder.join(RECORDS))?;
        let settings = manifest.settings.clone();
        for (one, was) in found.iter().zip(&mut manifest.scenarios) {
            let now = listed(one, &settings, overrides);
            if now.digest != was.digest {
                return Err(RunLogError::Changed(was.path.clone()));
            }
            (was.gate, was.trials) = (now.gate, now.trials);
        }
        let plans: Vec<Plan> =
            found.iter().filter_map(|one| plan(one, &settings, overrides)).collect();
        let keys: BTreeSet<String> =
            plans.iter().flat_map(Plan::trials).map(|planned| planned.key).collect();
        let records = RunFolder::read(folder)?.records;
        // A scenario that could not be read has no trials.
        let mut ended = records.iter().filter(|record| !record.scenario_digest.is_empty());
        if let Some(record) = ended.find(|record| !keys.contains(&record.key)) {
            let TrialRecord { scenario, sample, trial, .. } = record.clone();
            return Err(RunLogError::NoTrial { scenario, sample, trial });
        }
        manifest.flags = flags;
        // From now on they are trials of this run that have not ended.
        manifest.missing = Vec::new();
        manifest.write(folder)?;
        let mut earlier: BTreeMap<String, Vec<TrialRecord>> = BTreeMap::new();
        for mut record in records {
            // The results stay in the file; memory must not grow with them.
            record.results = Vec::new();
            earlier.entry(record.key.clone()).or_default().push(record);
        }
        Ok(Self { folder: folder.to_owned(), writer, earlier, is_resumed: true })
    }

    /// Returns the run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the earlier attempts at a trial.
    pub(super) fn earlier(&self, key: &str) -> &[TrialRecord] {
        self.earlier.get(key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn append(&self, record: &TrialRecord) -> Result<(), RecordError> {
        self.writer.append(record)
    }
}

/// Returns the scenario files of a run that is to be resumed.
///
/// # Errors
/// If one is not there.
pub fn scenarios_of(manifest: &Manifest) -> Result<Vec<ScenarioFile>, RunLogError> {
    let file = |one: &ManifestScenario| {
        let path = PathBuf::from(&one.path);
        if !path.exists() {
            return Err(RunLogError::NoScenario(one.path.clone()));
        }
        let sidecar = one.must_fail.clone();
        Ok(ScenarioFile { path, name: one.name.clone(), as_named: sidecar.is_none(), sidecar })
    };
    manifest.scenarios.iter().map(file).collect()
}

fn plan(found: &ScenarioFile, settings: &RunSettings, overrides: &AgentOverrides) -> Option<Plan> {
    let source = found.source().ok()?;
    let first = source.first().ok()?;
    Some(Plan::of(source, first, settings, overrides))
}

fn listed(
    found: &ScenarioFile,
    settings: &RunSettings,
    overrides: &AgentOverrides,
) -> ManifestScenario {
    let source = found.source().ok();
    let plan = plan(found, settings, overrides);
    ManifestScenario {
        trials: plan.as_ref().map(|plan| plan.count(settings.shard)),
        name: found.name.clone(),
        path: found.path.display().to_string(),
        digest: source.map(|source| source.digest(overrides)),
        must_fail: found.sidecar.clone(),
        gate: plan.map(|plan| plan.first.harness.gate).unwrap_or_default(),
    }
}

/// Returns whether a trial with this last record need not run again: it was carried out, even if something broke. A
/// trial that was interrupted, or that could not begin, runs again.
pub(super) fn is_final(record: &TrialRecord) -> bool {
    record.outcome != Outcome::Interrupted
        && !record.problems.iter().any(|one| one.kind.prevents_trial())
}
