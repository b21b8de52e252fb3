//! The errors of a transcript's file.

use std::{io, path::PathBuf, sync::Arc};

/// A transcript that could not be begun, kept or read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file could not be made; it must not exist before, since a transcript belongs to one run.
    #[error(
        "cannot begin the transcript {path}: expected a folder that can be written to and no file of that name"
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line could not be written; nothing was written after it.
    #[error(
        "the transcript {path} is incomplete, it ends after entry {written}: make room on the disk and run again"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The last entry that was written in full.
        written: u64,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The file could not be read.
    #[error("cannot read the transcript {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is not an entry.
    #[error("{path}:{line}: expected one transcript entry as JSON")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser said.
        source: serde_json::Error,
    },
}
