//! Additional root certificates for connections to agents.

use std::{fs, io, path::PathBuf};

use bridge_client::{Roots, RootsError};
use clap::Args;

/// Additional root certificates.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Trust {
    /// Trust the certificates in this PEM file too, such as those of a company's own authority
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// The reason why a certificate file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrustError {
    #[error("--ca {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("--ca {}: {error}", path.display())]
    Content { path: PathBuf, error: RootsError },
}

impl Trust {
    /// Returns the root certificates in the file, if one is given.
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
