//! Joins the runs of several machines, each of which had a part of the trials, into one folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Manifest, ManifestScenario, RECORDS, RecordError, RecordWriter, RunFlags, RunFolder,
    RunSettings, Shard, TrialRecord,
};

/// The result of joining runs.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// The number of trials.
    pub trials: usize,
    /// The trials that several runs have, by key; that of the first run is taken.
    pub doubles: Vec<DuplicateTrial>,
    /// The parts that no run has, such as `2/8`.
    pub missing: Vec<Shard>,
    /// The runs that were joined.
    pub runs: Vec<RunFolder>,
}

/// A trial that two runs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateTrial {
    /// Its key.
    pub key: String,
    /// Its scenario, sample and trial, for people.
    pub trial: String,
    /// The run whose records are taken.
    pub taken: PathBuf,
    /// The run whose records are left out.
    pub left_out: PathBuf,
}

/// The reason why runs cannot be joined.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum MergeError {
    /// A run cannot be read or the new one not written.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// Two runs have different scenarios.
    #[error(
        "{} and {} differ in the scenario {scenario}: {first} and {second}; only runs of the same scenarios can be joined",
        one.display(), other.display()
    )]
    Scenarios { one: PathBuf, other: PathBuf, scenario: String, first: String, second: String },
    /// Two runs have different settings.
    #[error(
        "{} and {} were started with different settings (trials, seed, snapshots, agents or overlay); only runs that differ \
         in their part can be joined",
        one.display(), other.display()
    )]
    Settings { one: PathBuf, other: PathBuf },
    /// The new folder has a run already.
    #[error("{}: has a run already; expected a new folder", .0.display())]
    Exists(PathBuf),
    /// The new folder has files that are not of a run.
    #[error("{}: has other files, such as {found:?}; expected a new or empty folder", into.display())]
    NotEmpty { into: PathBuf, found: String },
    /// A record names a folder outside of its run.
    #[error("{}: the folder {folder:?} of {trial} is not below the run's", run.display())]
    Outside { run: PathBuf, folder: String, trial: String },
    /// The folder of a trial cannot be copied.
    #[error("cannot copy {} to {}: {error}", from.display(), to.display())]
    Copy { from: PathBuf, to: PathBuf, error: io::Error },
}

/// Joins runs of the same scenarios and settings into the new folder `into`, with their transcripts.
///
/// # Errors
/// If the runs differ, `into` has other files, or something cannot be read or written.
pub fn merge(runs: &[PathBuf], into: &Path) -> Result<Merged, MergeError> {
    check_new(into)?;
    let mut read = Vec::new();
    for path in runs {
        read.push(RunFolder::read(path)?);
    }
    let Some(first) = read.first() else {
        return Ok(Merged::default());
    };
    for other in &read[1..] {
        check_alike(first, other)?;
    }
    let missing = missing(&read);
    let begun = read.iter().map(|run| &run.manifest.started).min();
    let scenarios = first.manifest.scenarios.iter().cloned();
    let manifest = Manifest {
        started: begun.cloned().unwrap_or_default(),
        settings: RunSettings { shard: None, ..first.manifest.settings.clone() },
        flags: RunFlags {
            // Each part wrote its own.
            reports: Vec::new(),
            ..first.manifest.flags.clone()
        },
        scenarios: scenarios
            .map(|one| ManifestScenario { trials: trials(&read, &missing, &one.name), ..one })
            .collect(),
        missing: missing.clone(),
        merged: runs.iter().map(|run| run.display().to_string()).collect(),
        ..first.manifest.clone()
    };
    let (records, doubles) = joined(&read);
    let path = into.join(RECORDS);
    // The records' file comes first, so that the folder is known as one of this program if it is killed. The manifest is
    // written last: without it, the folder is not a run, and merging can be repeated.
    let emptied = fs::create_dir_all(into).and_then(|()| fs::write(&path, ""));
    emptied.map_err(|error| RecordError::Write { path: into.to_owned(), error })?;
    for (run, record) in &records {
        copy_trial(&run.path, into, record)?;
    }
    let lines: Vec<&TrialRecord> = records.iter().map(|(_, record)| *record).collect();
    RecordWriter::open(&path)?.append_all(&lines)?;
    manifest.write(into)?;
    let keys: BTreeSet<&str> = lines.iter().map(|record| record.key.as_str()).collect();
    Ok(Merged { trials: keys.len(), doubles, missing, runs: read })
}

/// Checks that a run can be written into a folder without mixing it with other files.
///
/// # Errors
/// If the folder has a run, or files although no run was begun in it.
pub fn check_new(into: &Path) -> Result<(), MergeError> {
    if into.join(super::MANIFEST).exists() {
        return Err(MergeError::Exists(into.to_owned()));
    }
    // Only a program that was killed leaves records without a manifest.
    if into.join(RECORDS).exists() {
        return Ok(());
    }
    let first = match fs::read_dir(into) {
        // It is created, or cannot be.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            None
        }
        entries => entries
            .and_then(|mut entries| entries.next().transpose())
            .map_err(|error| RecordError::Read { path: into.to_owned(), error })?,
    };
    match first {
        None => Ok(()),
        Some(found) => {
            let found = found.file_name().to_string_lossy().into_owned();
            Err(MergeError::NotEmpty { into: into.to_owned(), found })
        }
    }
}

fn check_alike(first: &RunFolder, other: &RunFolder) -> Result<(), MergeError> {
    let digests = |run: &RunFolder| -> BTreeMap<String, Option<String>> {
        let scenarios = run.manifest.scenarios.iter();
        scenarios.map(|one| (one.name.clone(), one.digest.clone())).collect()
    };
    let (ours, theirs) = (digests(first), digests(other));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        if ours.get(name) != theirs.get(name) {
            let shown = |digest: Option<&Option<String>>| match digest {
                None => "none".to_owned(),
                Some(None) => "one that cannot be read".to_owned(),
                Some(Some(digest)) => digest.clone(),
            };
            return Err(MergeError::Scenarios {
                one: first.path.clone(),
                other: other.path.clone(),
                scenario: name.clone(),
                first: shown(ours.get(name)),
                second: shown(theirs.get(name)),
            });
        }
    }
    let without_shard =
        |run: &RunFolder| RunSettings { shard: None, ..run.manifest.settings.clone() };
    match without_shard(first) == without_shard(other) {
        true => Ok(()),
        false => Err(MergeError::Settings { one: first.path.clone(), other: other.path.clone() }),
    }
}

type Joined<'a> = (Vec<(&'a RunFolder, &'a TrialRecord)>, Vec<DuplicateTrial>);

/// Returns the records of all runs, those of one trial from the first run that has it.
fn joined(runs: &[RunFolder]) -> Joined<'_> {
    let mut owners: BTreeMap<&str, &RunFolder> = BTreeMap::new();
    let (mut records, mut doubles) = (Vec::new(), Vec::new());
    for run in runs {
        let mut told = BTreeSet::new();
        for record in &run.records {
            let owner = *owners.entry(&record.key).or_insert(run);
            if std::ptr::eq(owner, run) {
                records.push((run, record));
            } else if told.insert(&record.key) {
                doubles.push(DuplicateTrial {
                    key: record.key.clone(),
                    trial: record.title(),
                    taken: owner.path.clone(),
                    left_out: run.path.clone(),
                });
            }
        }
    }
    (records, doubles)
}

/// Returns the number of a scenario's trials in the whole run: the sum over its parts. It is not known if no run has one of them.
fn trials(runs: &[RunFolder], missing: &[Shard], scenario: &str) -> Option<usize> {
    let mut parts: BTreeMap<Option<Shard>, usize> = BTreeMap::new();
    for run in runs {
        let its = run.manifest.scenarios.iter().find(|one| one.name == scenario)?.trials?;
        let most = parts.entry(run.manifest.settings.shard).or_default();
        *most = its.max(*most);
    }
    match parts.get(&None) {
        Some(whole) => Some(*whole),
        None => missing.is_empty().then(|| parts.values().sum()),
    }
}

/// Returns the parts that no run has. A run that was joined without some parts has the others.
fn missing(runs: &[RunFolder]) -> Vec<Shard> {
    let (mut all, mut there) = (BTreeSet::new(), BTreeSet::new());
    for Manifest { settings, missing, .. } in runs.iter().map(|run| &run.manifest) {
        match (settings.shard, missing.first()) {
            (Some(shard), _) => {
                all.extend(shard.all());
                there.insert(shard);
            }
            (None, Some(one)) => {
                all.extend(one.all());
                there.extend(one.all().filter(|part| !missing.contains(part)));
            }
            (None, None) => return Vec::new(),
        }
    }
    all.difference(&there).copied().collect()
}

/// Copies the files of a trial's folder.
///
/// # Errors
/// If the folder is not below the run's, or cannot be copied.
pub fn copy_trial(run: &Path, into: &Path, record: &TrialRecord) -> Result<(), MergeError> {
    let Some(folder) = &record.folder else {
        return Ok(());
    };
    let (Some(from), Some(to)) = (record.folder_below(run), record.folder_below(into)) else {
        let (run, folder, trial) = (run.to_owned(), folder.clone(), record.title());
        return Err(MergeError::Outside { run, folder, trial });
    };
    let copied = || {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), to.join(entry.file_name()))?;
            }
        }
        Ok(())
    };
    copied().map_err(|error| MergeError::Copy { from, to: to.clone(), error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    /// Writes a run of one trial whose files are in this folder below the run's.
    fn run(path: &Path, key: &str, folder: &str) {
        fs::create_dir_all(path).unwrap();
        Manifest::begun("2026-01-01T00:00:00Z".to_owned()).write(path).unwrap();
        let record = TrialRecord { folder: Some(folder.to_owned()), ..record(key, 1) };
        RecordWriter::open(&path.join(RECORDS)).unwrap().append(&record).unwrap();
    }

    #[test]
    fn files_outside_of_the_runs_are_neither_read_nor_written() {
        let folder = tempfile::tempdir().unwrap();
        let (one, into) = (folder.path().join("one"), folder.path().join("deep/into"));
        let secret = folder.path().join("secret");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("key"), "hunter2").unwrap();
        for outside in ["../secret", secret.to_str().unwrap(), ""] {
            let _ = fs::remove_dir_all(&one);
            run(&one, "a", outside);
            let error = merge(std::slice::from_ref(&one), &into).unwrap_err().to_string();
            let expected =
                format!("the folder {outside:?} of debate trial 1 is not below the run's");
            assert!(error.ends_with(&expected), "{error}");
        }
        assert_eq!(fs::read_to_string(secret.join("key")).unwrap(), "hunter2");
        assert!(!folder.path().join("deep/secret").exists());
    }

    #[test]
    fn a_folder_with_other_files_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (one, into) = (folder.path().join("one"), folder.path().join("into"));
        run(&one, "a", "debate/trial-1");
        fs::create_dir_all(one.join("debate/trial-1")).unwrap();
        fs::create_dir(&into).unwrap();
        fs::write(into.join("notes.txt"), "mine").unwrap();
        let error = merge(std::slice::from_ref(&one), &into).unwrap_err().to_string();
        let expected = "has other files, such as \"notes.txt\"; expected a new or empty folder";
        assert!(error.ends_with(expected), "{error}");
        assert_eq!(fs::read_dir(&into).unwrap().count(), 1);
        fs::remove_file(into.join("notes.txt")).unwrap();
        merge(&[one], &into).unwrap();
    }

    #[test]
    fn parts_that_are_still_missing_are_known_when_a_joined_run_is_joined_again() {
        let part = |shard: Option<&str>, missing: &[&str]| RunFolder {
            path: PathBuf::new(),
            manifest: Manifest {
                settings: RunSettings {
                    shard: shard.map(|shard| shard.parse().unwrap()),
                    ..RunSettings::default()
                },
                missing: missing.iter().map(|part| part.parse().unwrap()).collect(),
                ..Manifest::begun(String::new())
            },
            records: Vec::new(),
            torn: None,
        };
        let found =
            |runs: &[RunFolder]| missing(runs).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found(&[part(Some("1/3"), &[])]), ["2/3", "3/3"]);
        let joined = || part(None, &["2/3", "3/3"]);
        assert_eq!(found(&[joined(), part(Some("3/3"), &[])]), ["2/3"]);
        assert!(found(&[joined(), part(None, &[])]).is_empty());
    }

    #[test]
    fn runs_are_joined_once_even_if_the_program_was_killed_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (one, into) = (folder.path().join("one"), folder.path().join("into"));
        run(&one, "a", "debate/trial-1");
        fs::create_dir_all(one.join("debate/trial-1")).unwrap();
        merge(std::slice::from_ref(&one), &into).unwrap();
        fs::remove_file(into.join(super::super::MANIFEST)).unwrap();
        merge(&[one], &into).unwrap();
        assert_eq!(RunFolder::read(&into).unwrap().records.len(), 1);
    }
}
