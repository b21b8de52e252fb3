//! The errors of a run's folder.

use std::{io, path::PathBuf};

/// The reason why a run's folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The folder has no manifest.
    #[error("{}: not the folder of a run; expected the file run.json in it", .0.display())]
    NotARun(PathBuf),
    /// Another program writes this run.
    #[error("{}: another program is still writing this run", .0.display())]
    InUse(PathBuf),
    /// The manifest is damaged.
    #[error("{}: expected a run's manifest as JSON: {error}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The error of the JSON parser.
        error: serde_json::Error,
    },
    /// A line is not a record.
    #[error("{}:{line}: expected a trial's record as JSON: {error}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error of the JSON parser.
        error: serde_json::Error,
    },
    /// A line is longer than any record may be.
    #[error("{}:{line}: expected a record of at most {limit} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The most bytes of a line.
        limit: u64,
    },
    /// A later program wrote the file.
    #[error(
        "{}:{line}: version {found} is newer than this program, which reads up to version {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The version found.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
}
