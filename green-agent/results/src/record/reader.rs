//! Reads `records.jsonl`.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read as _},
    path::Path,
};

use serde::Deserialize;

use super::{RecordError, TrialRecord, VERSION};

/// The most bytes of one line, with its end.
pub(super) const LINE_LIMIT: u64 = 64 * 1024 * 1024;

/// The records of a file.
#[derive(Clone, Debug, Default)]
pub struct ReadRecords {
    /// The records, in the file's order.
    pub records: Vec<TrialRecord>,
    /// The number of an incomplete last line, which was skipped: a program that is killed while it writes
    /// leaves one.
    pub torn: Option<usize>,
    /// The length of the file up to the end of its last record, in bytes.
    pub whole: u64,
    /// Whether the last record lacks the end of its line, which some editors leave out.
    pub is_unended: bool,
}

/// Reads the records of a file, in its order.
///
/// # Errors
/// If the file cannot be read, or a line other than an incomplete last one is not a record.
pub fn read_records(path: &Path) -> Result<ReadRecords, RecordError> {
    read(path, true)
}

/// Reads the records of a file to which no program appends, so that an incomplete last line is a mistake.
///
/// # Errors
/// If the file cannot be read, or a line is not a record.
pub(crate) fn read_whole_records(path: &Path) -> Result<Vec<TrialRecord>, RecordError> {
    read(path, false).map(|read| read.records)
}

fn read(path: &Path, may_be_torn: bool) -> Result<ReadRecords, RecordError> {
    let cannot_read = |error| RecordError::Read { path: path.to_owned(), error };
    let mut file = BufReader::new(File::open(path).map_err(cannot_read)?);
    let mut read = ReadRecords::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut limited = file.by_ref().take(LINE_LIMIT);
        if limited.read_until(b'\n', &mut line).map_err(cannot_read)? == 0 {
            break;
        }
        read.is_unended = !line.ends_with(b"\n");
        if read.is_unended && line.len() as u64 == LINE_LIMIT {
            let path = path.to_owned();
            return Err(RecordError::TooLong { path, line: number, limit: LINE_LIMIT });
        }
        match record(path, number, &line) {
            Err(RecordError::Line { .. }) if read.is_unended && may_be_torn => {
                (read.torn, read.is_unended) = (Some(number), false);
                break;
            }
            record => read.records.push(record?),
        }
        read.whole += line.len() as u64;
    }
    Ok(read)
}

/// The part of a record or manifest that every version has.
#[derive(Deserialize)]
pub(super) struct Versioned {
    pub(super) version: u32,
}

fn record(path: &Path, number: usize, line: &[u8]) -> Result<TrialRecord, RecordError> {
    let wrong = |error| RecordError::Line { path: path.to_owned(), line: number, error };
    let found = serde_json::from_slice::<Versioned>(line).map_err(wrong)?.version;
    check_version(path, number, found)?;
    serde_json::from_slice(line).map_err(wrong)
}

/// Returns an error for a version that is newer than this program.
pub(super) fn check_version(path: &Path, line: usize, found: u32) -> Result<(), RecordError> {
    match found > VERSION {
        true => Err(RecordError::Newer { path: path.to_owned(), line, found, known: VERSION }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    /// Reads a file with this content; returns the keys and the number of a torn line, or the error.
    fn read(content: &str) -> Result<(Vec<String>, Option<usize>), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        std::fs::write(&path, content).unwrap();
        let read = read_records(&path).map_err(|error| {
            let shown = folder.path().display().to_string();
            error.to_string().replace(&shown, "")
        })?;
        let keys = read.records.into_iter().map(|record| record.key);
        Ok((keys.collect(), read.torn))
    }

    #[test]
    fn only_a_torn_last_line_is_forgiven() {
        let line = |key: &str| serde_json::to_string(&record(key, 1)).unwrap();
        let (a, b) = (line("a"), line("b"));
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        assert_eq!(read(""), Ok((keys(&[]), None)));
        assert_eq!(read(&format!("{a}\n{b}\n")), Ok((keys(&["a", "b"]), None)));
        assert_eq!(read(&format!("{a}\n{b}")), Ok((keys(&["a", "b"]), None)));
        for end in [1, 40, b.len() - 1] {
            let torn = format!("{a}\n{}", &b[..end]);
            assert_eq!(read(&torn), Ok((keys(&["a"]), Some(2))));
        }
        for damaged in [format!("{a}\n{}\n", &b[..40]), format!("{a}\n\n"), format!("{a}\n{{}}\n")]
        {
            let error = read(&damaged).unwrap_err();
            assert!(error.starts_with("/records.jsonl:2: expected a trial's record"), "{error}");
        }
    }

    #[test]
    fn a_later_version_is_refused_by_its_number() {
        let error = read("{\"version\":7,\"what\":\"ever\"}\n").unwrap_err();
        assert!(error.starts_with("/records.jsonl:1: version 7 is newer"), "{error}");
    }
}
