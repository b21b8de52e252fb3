//! The errors of a transcript's file.

use std::{io, path::PathBuf, sync::Arc};

/// The reason why a transcript could not be created, written or read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file could not be created; it must not exist before, because a transcript belongs to one run.
    #[error(
        "cannot create the transcript {path}: expected a folder that can be written to and no file of that name"
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's error.
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
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The file could not be read.
    #[error("cannot read the transcript {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A line is not an entry.
    #[error("{path}:{line}: expected one transcript entry as JSON: {error}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error of the JSON parser.
        error: serde_json::Error,
    },
}
