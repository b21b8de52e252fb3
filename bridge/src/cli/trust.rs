//! Whose certificates are believed when agents are spoken to.

use std::{fs, io, path::PathBuf};

use bridge_client::{Roots, RootsError};
use clap::Args;

/// Whose certificates are believed.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Trust {
    /// Believe the certificates of these authorities too: a file in PEM, such as a company has
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// Why an authority cannot be believed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrustError {
    #[error("--ca {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("--ca {}: {error}", path.display())]
    Content { path: PathBuf, error: RootsError },
}

impl Trust {
    /// The authorities in the file, if one is named.
    pub(super) fn roots(&self) -> Result<Roots, TrustError> {
        let Some(path) = &self.ca else {
            return Ok(Roots::default());
        };
        let text = fs::read(path).map_err(|error| {
            let path = path.clone();
            TrustError::File { path, error }
        })?;
        Roots::from_pem(&text).map_err(|error| {
            let path = path.clone();
            TrustError::Content { path, error }
        })
    }
}
