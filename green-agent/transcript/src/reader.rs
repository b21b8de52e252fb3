//! Reads `transcript.jsonl`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Entry;

/// The reason why a transcript could not be created, written or read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TranscriptError {
    /// The file could not be created; it must not exist before, because a transcript belongs to one run.
    #[error(
        "cannot create the transcript {path}: expected a folder that can be written to and no file of that name"
    )]
    Create { path: PathBuf, source: io::Error },
    /// A line could not be written; nothing was written after it.
    #[error(
        "the transcript {path} is incomplete, it ends after entry {written}: make room on the disk and run again"
    )]
    Write { path: PathBuf, written: u64, source: Arc<io::Error> },
    /// The file could not be read.
    #[error("cannot read the transcript {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    /// A line is not an entry.
    #[error("{path}:{line}: expected one transcript entry as JSON: {error}")]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        error: serde_json::Error,
    },
}

/// Reads every entry of the transcript at `path`, in the file's order.
///
/// An incomplete last line is skipped: a runner that is killed while it writes leaves one.
///
/// # Errors
/// If the file cannot be read, or another line is not an entry.
pub fn read(path: &Path) -> Result<Vec<Entry>, TranscriptError> {
    let cannot_read = |error| TranscriptError::Read { path: path.to_owned(), error };
    let mut file = BufReader::new(File::open(path).map_err(cannot_read)?);
    let mut entries = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(cannot_read)? == 0 {
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(entry) => entries.push(entry),
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => {
                return Err(TranscriptError::Line { path: path.to_owned(), line: number, error });
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        r#"{"seq":1,"time":0.5,"hop":"a -> b","exchange":1,"direction":"back","kind":"end"}"#;

    /// Reads a file with this content; expects the number of entries or the number of the rejected line.
    fn check(content: &str, expected: Result<usize, usize>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        std::fs::write(&path, content).unwrap();
        let outcome = match read(&path) {
            Ok(entries) => Ok(entries.len()),
            Err(TranscriptError::Line { line, .. }) => Err(line),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(outcome, expected, "{content}");
    }

    #[test]
    fn only_a_torn_last_line_is_forgiven() {
        check("", Ok(0));
        check(&format!("{WHOLE}\n{WHOLE}\n"), Ok(2));
        check(&format!("{WHOLE}\n{WHOLE}"), Ok(2));
        check(&format!("{WHOLE}\n{}", &WHOLE[..40]), Ok(1));
        check(&format!("{WHOLE}\n{}\n", &WHOLE[..40]), Err(2));
        check(&format!("{}\n{WHOLE}\n", &WHOLE[..40]), Err(1));
        check(&format!("{WHOLE}\n\n{WHOLE}\n"), Err(2));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("/nowhere/transcript.jsonl")).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot read the transcript /nowhere/transcript.jsonl: "),
            "{error}"
        );
    }
}
