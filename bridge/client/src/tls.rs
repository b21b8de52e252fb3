//! The certificates of connections: root certificates beside those of public authorities, and the client's own.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
    sign::{CertifiedKey, SingleCertAndKey},
};

use crate::certificate::is_authority;

/// The certificates of connections, for cards and for all bindings: those that are trusted beside public authorities, and
/// the client's own. The default trusts public authorities and has no certificate of its own.
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
        let config = config(certificates(pem)?);
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
        let mut config = match self.0 {
            Some(config) => ClientConfig::clone(&config),
            None => config(Vec::new()).map_err(|error| TlsError::Unreadable(error.to_string()))?,
        };
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
        match &self.0 {
            Some(config) => {
                let mut config = ClientConfig::clone(config);
                config.alpn_protocols = vec![b"h2".to_vec()];
                client.use_preconfigured_tls(config)
            }
            None => client,
        }
    }
}

/// The configuration that trusts public authorities only.
static PUBLIC: LazyLock<Option<ClientConfig>> = LazyLock::new(|| config(Vec::new()).ok());

/// Makes an HTTP client use this process's shared TLS configuration, which trusts public authorities. Its creation is
/// most of the cost of a client, so clients that are created often share it, such as those of many short runs.
pub fn with_shared_tls(client: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    match &*PUBLIC {
        Some(config) => client.use_preconfigured_tls(config.clone()),
        // The client creates its own configuration, and reports the error.
        None => client,
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

fn config(named: Vec<CertificateDer<'static>>) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for one in &named {
        roots.add(one.clone())?;
    }
    let provider = Arc::new(ring::default_provider());
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let usual = usual.build().map_err(|error| Error::General(error.to_string()))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(PinnedOrTrusted { usual, named }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Verifies by the usual rules, with one exception: a server may present one of the named certificates itself
/// even if it is marked as an authority. `openssl req -x509` makes such certificates, and trusting exactly
/// this one is as safe.
#[derive(Debug)]
struct PinnedOrTrusted {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinnedOrTrusted {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(shown, between, name, ocsp, now) {
            // The expiry was checked before this error, the host name is checked below.
            Err(Error::InvalidCertificate(wrong))
                if is_authority(&wrong) && self.named.contains(shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
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
