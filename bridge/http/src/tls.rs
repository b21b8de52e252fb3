//! The certificates that are trusted by clients: those of public authorities, those that the environment names, and those that
//! the user of one client names.

use std::{
    env, fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use reqwest::ClientBuilder;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};

/// The variable that names a file with further certificates, as for curl, Python and Go.
const VARIABLE: &str = "SSL_CERT_FILE";

/// The configuration that trusts nothing beside public authorities and the environment's file.
static SHARED: LazyLock<Result<ClientConfig, Error>> = LazyLock::new(|| tls_config(Vec::new()));

/// The certificates in the environment's file.
static FROM_ENVIRONMENT: LazyLock<Vec<CertificateDer<'static>>> = LazyLock::new(|| {
    let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
        return Vec::new();
    };
    let found = in_file(Path::new(&path));
    if let Err(why) = &found {
        let path = Path::new(&path).display();
        tracing::warn!(
            "{VARIABLE}={path}: expected a file with certificates in PEM: {why}; only public authorities are trusted"
        );
    }
    found.unwrap_or_default()
});

fn in_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    // A bundle may have some that are unreadable; the others count.
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    if found.is_empty() { Err("it has none".to_owned()) } else { Ok(found) }
}

/// Returns a copy of this process's shared TLS configuration, which trusts public authorities and the certificates in the file that
/// `SSL_CERT_FILE` names. Its creation is most of the cost of a client, so clients that are created often share it.
///
/// # Errors
/// If no configuration can be created on this machine.
pub fn shared_tls_config() -> Result<ClientConfig, Error> {
    SHARED.clone()
}

/// Makes an HTTP client use the [`shared_tls_config`].
pub fn with_shared_tls(client: ClientBuilder) -> ClientBuilder {
    match shared_tls_config() {
        Ok(config) => client.use_preconfigured_tls(config),
        // The client creates its own configuration, and reports the error.
        Err(_) => client,
    }
}

/// Creates a configuration for clients of HTTP/2 and HTTP/1.1 that trusts the `named` certificates too.
///
/// # Errors
/// If a named certificate is invalid.
pub fn tls_config(named: Vec<CertificateDer<'static>>) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for one in &named {
        roots.add(one.clone())?;
    }
    roots.add_parsable_certificates(FROM_ENVIRONMENT.iter().cloned());
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
        let is_named = || self.named.contains(shown) || FROM_ENVIRONMENT.contains(shown);
        match self.usual.verify_server_cert(shown, between, name, ocsp, now) {
            // The expiry was checked before this error, the host name is checked below.
            Err(Error::InvalidCertificate(wrong)) if is_authority(&wrong) && is_named() => {
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

/// Returns whether the error is that the server presented a certificate of an authority (a CA) as its own. rustls has
/// no variant for it, so this reads the text.
pub fn is_authority(wrong: &CertificateError) -> bool {
    matches!(wrong, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}
