//! The errors of a run's folder.

use std::{io, path::PathBuf};

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
