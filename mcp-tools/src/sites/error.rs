//! The errors of reading an index of sites.

use std::path::PathBuf;

/// The reason why an index of sites cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SitesError {
    /// The file does not exist or cannot be read.
    #[error("the index of sites {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The file has another format.
    #[error(
        "the index of sites {} is not valid, expected a list sites of url, title, description and keywords: {reason}",
        path.display()
    )]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The position in the file, and what was expected there.
        reason: String,
    },
}
