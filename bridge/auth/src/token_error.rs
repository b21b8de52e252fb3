//! The reasons why there is no token.

use std::path::PathBuf;

use super::{FetchError, KeyError};

/// The reason why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The bridge's own issuer failed.
    #[error("the bridge's own issuer gave no token: {0}")]
    Own(#[from] KeyError),
    /// The token endpoint returned none.
    #[error("no token: {0}")]
    Endpoint(#[from] FetchError),
    /// The assertion for the token endpoint cannot be read.
    #[error("no token: the assertion in {path}: {reason}")]
    Assertion {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
}
