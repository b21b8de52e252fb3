//! The errors of a transcript's file.

use std::{io, path::PathBuf, sync::Arc};

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
