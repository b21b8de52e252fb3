//! Compares the transcripts of two trials.

use crate::record::{RunFolder, TrialRecord};
use green_agent_transcript::{self as transcript, Names, SnapshotSettings, canonical, snapshot};

/// The largest size of a canonical transcript that is compared, in bytes.
const LIMIT: usize = 2 * 1024 * 1024;

/// Returns a diff of the first two trials of the same number whose outcomes differ, or of the first two; or the reason
/// why there is none.
pub(super) fn change(
    runs: (&RunFolder, &RunFolder),
    records: (Vec<&TrialRecord>, Vec<&TrialRecord>),
) -> String {
    let (all_a, all_b) = records;
    let pairs: Vec<(&TrialRecord, &TrialRecord)> = all_a
        .into_iter()
        .filter_map(|a| Some((a, *all_b.iter().find(|b| b.trial == a.trial)?)))
        .collect();
    let differ = pairs.iter().find(|(a, b)| a.outcome != b.outcome);
    let Some((a, b)) = differ.or(pairs.first()) else {
        return "no trial of the same number in both runs".to_owned();
    };
    match (text(runs.0, a), text(runs.1, b)) {
        (Ok(a), Ok(b)) if a == b => "the transcripts are the same".to_owned(),
        (Ok(a), Ok(b)) => snapshot::diff(&a, &b, ("a", "b")),
        (Err(why), _) | (_, Err(why)) => why,
    }
}

fn text(run: &RunFolder, record: &TrialRecord) -> Result<String, String> {
    let folder = record.folder.as_deref().ok_or("a trial was not started")?;
    let path = record
        .folder_below(&run.path)
        .ok_or_else(|| format!("{folder:?} is not a folder below the run's"))?
        .join("transcript.jsonl");
    let entries = transcript::read(&path).map_err(|error| error.to_string())?;
    let names = Names { origins: record.parties.clone(), roles: Vec::new() };
    let text = canonical(&entries, &names, &SnapshotSettings::default());
    match text.len() <= LIMIT {
        true => Ok(text),
        false => Err(format!("{} is too large to be compared", path.display())),
    }
}
