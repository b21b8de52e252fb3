//! What can be wrong with an index of sites.

use std::path::PathBuf;

/// Why an index of sites cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SitesError {
    /// There is no such file, or it may not be read.
    #[error("the index of sites {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file says something else.
    #[error(
        "the index of sites {} is not valid, expected a list sites of url, title, description and keywords: {reason}",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where, and what was expected.
        reason: String,
    },
}
