//! The certificates of connections: root certificates beside those of public authorities, and the client's own.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bridge_http::{shared_tls_config, tls_config, with_shared_tls};
use rustls::{
    ClientConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::{CertifiedKey, SingleCertAndKey},
};

/// The certificates of connections, for cards and for all bindings: those that are trusted beside public authorities, and
/// the client's own. The default trusts public authorities and the
/// certificates in the file that the variable `SSL_CERT_FILE` names, and has no certificate of its own.
///
/// A certificate of the client is shown to every server that asks for one, even if a card or a redirect names it. Its key
/// stays here, so that no server can use the certificate elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Tls(Option<Arc<ClientConfig>>);

/// The reason why a text contains no usable certificates, or no key that fits them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The text contains no certificate.
    #[error(
        "expected certificates in PEM, found none that begins with -----BEGIN CERTIFICATE-----"
    )]
    Empty,
    /// A certificate is invalid.
    #[error("expected certificates in PEM: {0}")]
    Unreadable(String),
    /// The private key is missing, invalid, or that of another certificate.
    #[error("expected the certificate's private key in PEM: {0}")]
    Key(String),
}

/// The reason why a file with certificates or a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("--{option} {}: {error}", path.display())]
pub struct TlsFileError {
    /// The option of the programs that names the file: `ca`, `cert` or `key`.
    pub option: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The cause: the file cannot be read, or its content is a [`TlsError`].
    pub error: io::Error,
}

impl Tls {
    /// Reads files in PEM: those that `ca` has are [trusted](Self::trusting), and `own`, a certificate and its key, is
    /// [shown](Self::showing).
    ///
    /// # Errors
    /// The first file that cannot be used.
    pub fn from_files(
        ca: Option<&Path>,
        own: Option<(&Path, &Path)>,
    ) -> Result<Self, TlsFileError> {
        let mut tls = Self::default();
        if let Some(ca) = ca {
            tls = Self::trusting(&read("ca", ca)?).map_err(|error| unusable("ca", ca, error))?;
        }
        let Some((certificate, key)) = own else {
            return Ok(tls);
        };
        let shown = tls.showing(&read("cert", certificate)?, &read("key", key)?);
        shown.map_err(|error| match error {
            TlsError::Key(_) => unusable("key", key, error),
            TlsError::Empty | TlsError::Unreadable(_) => unusable("cert", certificate, error),
        })
    }

    /// Trusts these certificates in PEM too, such as those of a company's own authority. A self-signed certificate of an
    /// agent can be one of them.
    ///
    /// # Errors
    /// [`TlsError::Empty`], [`TlsError::Unreadable`]
    pub fn trusting(pem: &[u8]) -> Result<Self, TlsError> {
        let config = tls_config(certificates(pem)?);
        let config = config.map_err(|error| TlsError::Unreadable(error.to_string()))?;
        Ok(Self(Some(Arc::new(config))))
    }

    /// Shows this certificate to servers that ask for one (mutual TLS). `certificate` has it in PEM, followed by those
    /// between it and its authority; `key` has its private key in PEM.
    ///
    /// # Errors
    /// All of [`TlsError`]
    pub fn showing(self, certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        let unfit = |error: String| TlsError::Key(error);
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| unfit(error.to_string()))?;
        let own = CertifiedKey::from_der(chain, key, &ring::default_provider());
        let own = own.map_err(|error| unfit(error.to_string()))?;
        let config = self.config().map_err(|error| TlsError::Unreadable(error.to_string()));
        let mut config = config?;
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(own));
        Ok(Self(Some(Arc::new(config))))
    }

    /// Adds the certificates to an HTTP client, which may speak HTTP/2 and HTTP/1.1.
    pub fn add_to(&self, client: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
        match &self.0 {
            Some(config) => client.use_preconfigured_tls(ClientConfig::clone(config)),
            None => with_shared_tls(client),
        }
    }

    /// Adds the certificates to an HTTP client that speaks only HTTP/2.
    pub(crate) fn add_to_http2(&self, client: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
        let client = client.http2_prior_knowledge();
        match self.config() {
            Ok(mut config) => {
                config.alpn_protocols = vec![b"h2".to_vec()];
                client.use_preconfigured_tls(config)
            }
            // The client creates its own configuration, and reports the error.
            Err(_) => client,
        }
    }

    fn config(&self) -> Result<ClientConfig, rustls::Error> {
        match &self.0 {
            Some(config) => Ok(ClientConfig::clone(config)),
            None => shared_tls_config(),
        }
    }
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, TlsFileError> {
    fs::read(path).map_err(|error| TlsFileError { option, path: path.to_owned(), error })
}

fn unusable(option: &'static str, path: &Path, error: TlsError) -> TlsFileError {
    TlsFileError { option, path: path.to_owned(), error: io::Error::other(error) }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| TlsError::Unreadable(error.to_string()))?;
    if found.is_empty() { Err(TlsError::Empty) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_certificates_in_pem() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (text, expected) in [
            ("", "found none that begins with -----BEGIN CERTIFICATE-----"),
            ("no certificate", "found none"),
            (broken, "expected certificates in PEM: "),
        ] {
            let error = Tls::trusting(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
