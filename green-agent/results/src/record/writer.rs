//! Writes `records.jsonl` and other files.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::Duration,
};

use super::{RecordError, TrialRecord, read_records, reader::LINE_LIMIT};

/// Appends records to a file, each as a whole line that is on the disk when [`append`](Self::append) returns.
/// While it exists, no other program can open the file for appending.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    file: Mutex<File>,
}

impl RecordWriter {
    /// Opens the file at `path`, makes it if there is none, and removes an incomplete last line.
    ///
    /// # Errors
    /// If the file cannot be opened or read, or another program appends to it.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let cannot_write = |error| RecordError::Write { path: path.to_owned(), error };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.map_err(cannot_write)?;
        lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => RecordError::InUse(path.to_owned()),
            TryLockError::Error(source) => cannot_write(source),
        })?;
        let read = read_records(path)?;
        if read.torn.is_some() {
            file.set_len(read.whole).map_err(cannot_write)?;
        }
        if read.is_unended {
            file.write_all(b"\n").map_err(cannot_write)?;
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file) })
    }

    /// Appends one record and waits until it is on the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&self, record: &TrialRecord) -> Result<(), RecordError> {
        self.append_all(&[record])
    }

    /// Appends several records and waits until they are on the disk.
    ///
    /// # Errors
    /// If they cannot be written; then none of them is.
    pub fn append_all(&self, records: &[&TrialRecord]) -> Result<(), RecordError> {
        self.write(records).map_err(|error| RecordError::Write { path: self.path.clone(), error })
    }

    fn write(&self, records: &[&TrialRecord]) -> io::Result<()> {
        let lines = lines(records.iter().copied())?;
        let mut file = bridge_program::lock(&self.file);
        let before = file.metadata()?.len();
        let written = file.write_all(&lines).and_then(|()| file.sync_data());
        if written.is_err() {
            // A line in two parts would make everything after it unreadable.
            file.set_len(before)?;
        }
        written
    }
}

/// Returns records in the form of `records.jsonl`.
pub(crate) fn lines<'r>(records: impl IntoIterator<Item = &'r TrialRecord>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for record in records {
        add_line(&mut lines, record, LINE_LIMIT)?;
    }
    Ok(lines)
}

/// Adds the line of a record. Results with which it would be too long to be read stay in the trial's folder: all records of the run would
/// be lost with it.
fn add_line(lines: &mut Vec<u8>, record: &TrialRecord, limit: u64) -> io::Result<()> {
    let begin = lines.len();
    serde_json::to_writer(&mut *lines, record)?;
    if (lines.len() - begin) as u64 >= limit {
        lines.truncate(begin);
        let note = "has results that are too large for records.jsonl and are only in results.json in its folder";
        let note = Some(note.to_owned());
        serde_json::to_writer(
            &mut *lines,
            &TrialRecord { results: Vec::new(), note, ..record.clone() },
        )?;
    }
    lines.push(b'\n');
    Ok(())
}

/// The number of attempts to get the lock, which a program that checks whether a run is running holds for a moment.
const TRIES: u32 = 50;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            decided => return decided,
        }
    }
    file.try_lock()
}

/// Returns whether a program has the records at `path` open for appending: then the run is running.
///
/// # Errors
/// If the file cannot be opened.
pub fn is_written(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn records_after_a_torn_or_unended_line_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let append = |key: &str| {
            let writer = RecordWriter::open(&path).unwrap();
            writer.append(&record(key, 1)).unwrap();
        };
        append("a");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"version\":1,\"key\":\"to").unwrap();
        append("b");
        let length = path.metadata().unwrap().len();
        file.set_len(length - 1).unwrap();
        append("c");
        let read = read_records(&path).unwrap();
        let keys: Vec<&str> = read.records.iter().map(|one| one.key.as_str()).collect();
        assert_eq!((keys, read.torn), (vec!["a", "b", "c"], None));
    }

    #[test]
    fn only_one_program_at_a_time_appends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let first = RecordWriter::open(&path).unwrap();
        let error = RecordWriter::open(&path).unwrap_err();
        assert!(matches!(error, RecordError::InUse(_)), "{error}");
        assert!(is_written(&path).unwrap());
        drop(first);
        assert!(!is_written(&path).unwrap());
        RecordWriter::open(&path).unwrap();
    }

    #[test]
    fn results_that_are_too_large_for_a_line_are_left_out() {
        let large = |bytes: usize| TrialRecord {
            results: vec!["x".repeat(bytes).into()],
            ..record("a", 1)
        };
        let limit = serde_json::to_string(&large(100)).unwrap().len() as u64 + 1;
        let mut lines = Vec::new();
        for bytes in [100, 101] {
            add_line(&mut lines, &large(bytes), limit).unwrap();
        }
        let lines = String::from_utf8(lines).unwrap();
        let read: Vec<TrialRecord> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read[0], large(100));
        let note = read[1].note.clone();
        assert!(note.as_ref().is_some_and(|note| note.contains("results.json")), "{note:?}");
        assert_eq!(read[1], TrialRecord { note, ..record("a", 1) });
    }

    #[test]
    fn reading_does_not_block_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        File::create(&path).unwrap();
        let file = File::open(&path).unwrap();
        file.try_lock_shared().unwrap();
        thread::scope(|scope| {
            let opened = scope.spawn(|| RecordWriter::open(&path));
            drop(file);
            opened.join().unwrap().unwrap();
        });
    }
}
