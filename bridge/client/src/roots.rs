//! Root certificates: those of public authorities, and additional ones.

use std::sync::{Arc, LazyLock};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};

use crate::certificate::is_authority;

/// Root certificates that are trusted beside those of public authorities, such as a company's own. They are
/// used for cards and for all bindings. A self-signed certificate of an agent can be one too.
#[derive(Clone, Debug, Default)]
pub struct Roots(Option<Arc<ClientConfig>>);

/// The reason why a text contains no usable certificates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// The text contains no certificate.
    #[error(
        "expected certificates in PEM, found none that begins with -----BEGIN CERTIFICATE-----"
    )]
    Empty,
    /// A certificate is invalid.
    #[error("expected certificates in PEM: {0}")]
    Unreadable(String),
}

impl Roots {
    /// Reads certificates from a text in PEM.
    ///
    /// # Errors
    /// Returns an error if there is none, or one is invalid.
    pub fn from_pem(text: &[u8]) -> Result<Self, RootsError> {
        let found = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|error| RootsError::Unreadable(error.to_string()))?;
        if found.is_empty() {
            return Err(RootsError::Empty);
        }
        let config = config(found).map_err(|error| RootsError::Unreadable(error.to_string()))?;
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

fn config(named: Vec<CertificateDer<'static>>) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for one in &named {
        roots.add(one.clone())?;
    }
    let provider = Arc::new(ring::default_provider());
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let usual = usual
        .build()
        .map_err(|error| Error::General(error.to_string()))?;
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
        match self
            .usual
            .verify_server_cert(shown, between, name, ocsp, now)
        {
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
            (
                "",
                "found none that begins with -----BEGIN CERTIFICATE-----",
            ),
            ("no certificate", "found none"),
            (broken, "expected certificates in PEM: "),
        ] {
            let error = Roots::from_pem(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
