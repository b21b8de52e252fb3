//! Reads a run's folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{Manifest, RECORDS, RecordError, TrialRecord, reader::ReadRecords};

/// A run's folder: its manifest, and the records of the trials that have ended.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// The folder.
    pub path: PathBuf,
    /// The scenarios and settings of the run.
    pub manifest: Manifest,
    /// The records, in the order in which the trials ended.
    pub records: Vec<TrialRecord>,
    /// The number of an incomplete last line of `records.jsonl`, which was skipped.
    pub torn: Option<usize>,
}

impl RunFolder {
    /// Reads the folder at `path`. A run without records yet has none.
    ///
    /// # Errors
    /// If it is not the folder of a run, or one of its files is damaged.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let manifest = Manifest::read(path)?;
        let records = path.join(RECORDS);
        let read = match records.exists() {
            true => super::read_records(&records)?,
            false => ReadRecords::default(),
        };
        Ok(Self { path: path.to_owned(), manifest, records: read.records, torn: read.torn })
    }

    /// Returns the last attempt of each trial, which counts, in the order of scenario, cell, sample and
    /// trial. Samples come in the order of their numbers, then of their names.
    pub fn counted(&self) -> Vec<&TrialRecord> {
        let mut counted: Vec<&TrialRecord> = self.last_attempts().into_values().collect();
        counted.sort_by_cached_key(|record| self.place(record));
        counted
    }

    /// Returns the attempts that were followed by another one of the same trial, in the order in which they
    /// ended. Records of trials that were not tried are no attempts.
    pub fn retried(&self) -> Vec<&TrialRecord> {
        let last = self.last_attempts();
        let is_last = |record: &TrialRecord| {
            last.get(record.key.as_str()).is_some_and(|last| std::ptr::eq(*last, record))
        };
        self.records.iter().filter(|one| one.was_tried() && !is_last(one)).collect()
    }

    /// Returns the duration of the run in seconds: from its beginning, before anything is installed, until its last trial ended.
    pub fn seconds(&self) -> f64 {
        let begun: Option<Timestamp> = self.manifest.started.parse().ok();
        let ends = self.records.iter().filter_map(|one| {
            let started: Timestamp = one.started.parse().ok()?;
            Some(started.duration_since(begun?).as_secs_f64() + one.seconds)
        });
        ends.fold(0.0, f64::max)
    }

    /// Returns the records by key. Of several, the one with the highest attempt is returned; of the same attempt, the
    /// later one.
    fn last_attempts(&self) -> BTreeMap<&str, &TrialRecord> {
        let mut last: BTreeMap<&str, &TrialRecord> = BTreeMap::new();
        for record in &self.records {
            let place = last.entry(&record.key).or_insert(record);
            if record.attempt >= place.attempt {
                *place = record;
            }
        }
        last
    }

    fn place<'a>(&self, record: &'a TrialRecord) -> impl Ord + use<'a> {
        let scenarios = &self.manifest.scenarios;
        let scenario = scenarios.iter().position(|one| one.name == record.scenario);
        let sample = record.sample.as_deref();
        (
            scenario.unwrap_or(usize::MAX),
            &record.scenario,
            &record.cell,
            sample.and_then(|sample| sample.parse::<u64>().ok()),
            sample,
            record.trial,
            &record.key,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn the_last_attempt_counts_and_the_others_that_were_tried_are_listed() {
        let sample = |key: &str, sample: &str, attempt| TrialRecord {
            sample: Some(sample.to_owned()),
            ..record(key, attempt)
        };
        let folder = RunFolder {
            path: PathBuf::new(),
            manifest: Manifest::begun(String::new()),
            records: vec![
                sample("c", "10", 1),
                sample("a", "2", 1),
                sample("a", "2", 2),
                TrialRecord { folder: None, ..sample("b", "1", 1) },
                sample("b", "1", 1),
            ],
            torn: None,
        };
        let short = |records: Vec<&TrialRecord>| -> Vec<(String, u32)> {
            let short = |one: &&TrialRecord| (one.key.clone(), one.attempt);
            records.iter().map(short).collect()
        };
        let expected = [("b", 1), ("a", 2), ("c", 1)];
        let expected = expected.map(|(key, attempt)| (key.to_owned(), attempt));
        assert_eq!(short(folder.counted()), expected);
        assert_eq!(short(folder.retried()), [("a".to_owned(), 1)]);
    }
}
