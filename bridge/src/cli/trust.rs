//! The certificates of connections to agents.

use std::path::PathBuf;

use bridge_client::{Tls, TlsFileError};
use clap::Args;

/// Files with certificates.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Trust {
    /// Trust the certificates in this PEM file too, such as those of a company's own authority
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Show the certificate in this PEM file to an agent that asks for one (mutual TLS)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl Trust {
    /// Returns the certificates in the files.
    pub(super) fn tls(&self) -> Result<Tls, TlsFileError> {
        let own = self.cert.as_deref().zip(self.key.as_deref());
        Tls::from_files(self.ca.as_deref(), own)
    }
}
