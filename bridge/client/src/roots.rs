//! Whose certificates are believed.

use std::sync::Arc;

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

/// Authorities that vouch for agents beside those that everybody believes: a company's own. They hold for
/// cards and for every binding alike. A certificate that an agent has made for itself is one too.
#[derive(Clone, Debug, Default)]
pub struct Roots(Option<Arc<ClientConfig>>);

/// Why a text names no authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// There is no certificate in it.
    #[error(
        "expected certificates in PEM, found none that begins with -----BEGIN CERTIFICATE-----"
    )]
    Empty,
    /// One of them cannot be read.
    #[error("expected certificates in PEM: {0}")]
    Unreadable(String),
}

impl Roots {
    /// The authorities whose certificates are in a text, PEM.
    ///
    /// # Errors
    /// If there is none in it, or one that cannot be read.
    pub fn from_pem(text: &[u8]) -> Result<Self, RootsError> {
        let found = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|error| RootsError::Unreadable(error.to_string()))?;
        if found.is_empty() {
            return Err(RootsError::Empty);
        }
        let config = config(found).map_err(|error| RootsError::Unreadable(error.to_string()))?;
        Ok(Self(Some(Arc::new(config))))
    }

    /// A client that believes them too.
    pub(crate) fn add_to(&self, client: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
        match &self.0 {
            Some(config) => client.use_preconfigured_tls(ClientConfig::clone(config)),
            None => client,
        }
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
        .with_custom_certificate_verifier(Arc::new(Named { usual, named }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The usual rules, and one more: a server may show one of the named certificates itself, though it says of itself
/// that it is an authority's. `openssl req -x509` makes such certificates, and no other is as sure.
#[derive(Debug)]
struct Named {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Named {
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
            // That it has not expired is found before this, and whose it is after.
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
