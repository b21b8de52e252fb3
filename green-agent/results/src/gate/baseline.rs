//! Keeps a run as the baseline that later runs are compared with.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::against;
use crate::record::{RecordError, RunFolder, TrialRecord, lines, read_whole_records};
use green_agent_scenario::gate::RegressionGate;
use green_agent_transcript::Replacement;

/// The reason why a run could not be kept.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum BaselineError {
    /// The baseline is a folder, which is not replaced.
    #[error(
        "{path} is a folder; to keep a run there, name a file in against, such as \"baseline.jsonl\""
    )]
    Folder { path: String },
    /// A file cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Keeps the trials of a scenario, whose file is at `scenario`, in the file that its gate names. The trials of other
/// scenarios stay in that file. Trials that say nothing about the agent are left out, like all fields that no figure
/// needs.
///
/// # Errors
/// If the run or the file cannot be read, or the file cannot be written.
pub fn keep(
    gate: &RegressionGate,
    scenario: &Path,
    name: &str,
    run: &Path,
) -> Result<(), BaselineError> {
    let unwritten = |error| RecordError::Write { path: against(gate, scenario), error };
    // Other runs may keep their scenarios in the same file now.
    let file = Replacement::begin(&against(gate, scenario)).map_err(unwritten)?;
    let (_, mut kept) = kept_so_far(gate, scenario)?;
    kept.retain(|record| record.scenario != name);
    let run = RunFolder::read(run)?;
    let counted = run.counted().into_iter();
    let scored = counted.filter(|record| record.scenario == name && record.outcome.is_scored());
    kept.extend(scored.map(slim));
    let written = lines(&kept).and_then(|lines| file.write(&lines));
    Ok(written.map_err(unwritten)?)
}

/// Returns the file that a gate names, and the trials that are kept there.
pub(super) fn kept_so_far(
    gate: &RegressionGate,
    scenario: &Path,
) -> Result<(PathBuf, Vec<TrialRecord>), BaselineError> {
    let path = against(gate, scenario);
    if path.is_dir() {
        let path = path.display().to_string();
        return Err(BaselineError::Folder { path });
    }
    let kept = if path.exists() { read_whole_records(&path)? } else { Vec::new() };
    Ok((path, kept))
}

/// Returns a record without the fields that no figure needs, because the file is meant to be committed.
fn slim(record: &TrialRecord) -> TrialRecord {
    TrialRecord {
        problems: Vec::new(),
        note: None,
        results: Vec::new(),
        phases: BTreeMap::new(),
        folder: None,
        parties: BTreeMap::new(),
        ..record.clone()
    }
}
