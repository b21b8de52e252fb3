//! TLS with rustls: reads certificates and serves encrypted connections.

mod clients;
#[cfg(feature = "program")]
mod validity;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use async_trait::async_trait;
use axum::http::Extensions;
use bridge_program::{Acceptor, App, Io, Limits, serve_within};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

#[cfg(feature = "program")]
pub(crate) use validity::validity;

/// The reason why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TlsError {
    /// A file is missing or invalid.
    #[error("{path}: expected {expected} in PEM: {error}")]
    File { path: PathBuf, expected: &'static str, error: String },
    /// Certificate and key do not match.
    #[error("{certificate} cannot be used with the key in {key}: {error}")]
    Mismatch { certificate: PathBuf, key: PathBuf, error: rustls::Error },
}

/// The files of a certificate, all PEM.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The certificate, followed by its intermediate certificates.
    pub certificate: &'a Path,
    /// Its private key.
    pub key: &'a Path,
    /// The authorities of client certificates. Without them no client is asked for a certificate. With them
    /// clients may present one, and an untrusted one ends the connection.
    pub client_ca: Option<&'a Path>,
}

/// A certificate with its key, which can be replaced while it is in use.
#[derive(Clone, Debug)]
pub struct Certificate(Arc<RwLock<Arc<ServerConfig>>>);

impl Certificate {
    /// Reads a certificate with its intermediate certificates, and its private key.
    ///
    /// # Errors
    /// Returns an error if a file is missing or invalid, or certificate and key do not match.
    pub fn read(files: Files<'_>) -> Result<Self, TlsError> {
        let config = config(files)?;
        Ok(Self(Arc::new(RwLock::new(config))))
    }

    /// Uses another certificate, which was already read, for new connections.
    pub fn adopt(&self, other: &Self) {
        let config = other.in_use();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    pub(crate) fn in_use(&self) -> Arc<ServerConfig> {
        let config = self.0.read().unwrap_or_else(PoisonError::into_inner);
        config.clone()
    }
}

fn config(files: Files<'_>) -> Result<Arc<ServerConfig>, TlsError> {
    let Files { certificate, key, client_ca } = files;
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key);
    let private = private.map_err(|error| invalid_file(key, "a private key", &error))?;
    let mismatch = |error| TlsError::Mismatch {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        error,
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(mismatch)?;
    let builder = match client_ca {
        Some(path) => builder.with_client_cert_verifier(clients::verifier(path, provider)?),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, private).map_err(mismatch)?;
    config.alpn_protocols = protocols();
    Ok(Arc::new(config))
}

/// Returns the protocols of encrypted connections in order of preference: gRPC needs HTTP/2.
fn protocols() -> Vec<Vec<u8>> {
    let all: &[&[u8]] = if cfg!(feature = "grpc") { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    all.iter().map(|name| name.to_vec()).collect()
}

/// Returns the certificates in a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| invalid_file(path, "a certificate", &error))?;
    match found.is_empty() {
        true => Err(invalid_file(path, "a certificate", &"there is none in it")),
        false => Ok(found),
    }
}

fn invalid_file(path: &Path, expected: &'static str, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { path: path.to_owned(), expected, error: error.to_string() }
}

/// Serves encrypted connections, otherwise as [`serve`](crate::serve()). Handlers get a client's certificate
/// as an extension, a [`PeerCertificate`](crate::access::PeerCertificate).
///
/// # Errors
/// None at present.
pub async fn serve(
    limits: Limits,
    listener: TcpListener,
    certificate: Certificate,
    app: impl Into<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_within(limits, listener, certificate, app, stop).await
}

/// The handshake runs separately from accepting connections, so that a slow client does not delay others.
#[async_trait]
impl Acceptor for Certificate {
    async fn accept(&self, connection: TcpStream) -> io::Result<(Io, Extensions)> {
        let stream = TlsAcceptor::from(self.in_use()).accept(connection).await?;
        let mut client = Extensions::new();
        let (_, session) = stream.get_ref();
        let presented = session.peer_certificates().and_then(<[_]>::first);
        if let Some(certificate) = presented.and_then(|der| clients::read(der)) {
            client.insert(certificate);
        }
        Ok((Io::new(stream), client))
    }
}
