//! TLS by rustls: certificates, and serving with them.

mod clients;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use axum::http::Extensions;
use bridge_program::{App, Door, Limits, serve_within};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is missing or holds something else.
    #[error("{path}: expected {expected} in PEM: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        expected: &'static str,
        /// What is wrong.
        error: String,
    },
    /// Certificate and key do not go together.
    #[error("{certificate} cannot be used with the key in {key}: {error}")]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        error: rustls::Error,
    },
}

/// Where the parts of a certificate are, all PEM.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The certificate, followed by those that vouch for it.
    pub certificate: &'a Path,
    /// Its private key.
    pub key: &'a Path,
    /// Those who vouch for clients. Without it no client is asked for a certificate; with it clients may show
    /// one, and one that nobody vouches for ends the connection.
    pub client_ca: Option<&'a Path>,
}

/// A certificate with its key, which may be renewed while it is used.
#[derive(Clone, Debug)]
pub struct Certificate(Arc<RwLock<Arc<ServerConfig>>>);

impl Certificate {
    /// Reads a certificate, with those that vouch for it, and its private key.
    ///
    /// # Errors
    /// If a file is missing, holds something else, or the two do not go together.
    pub fn read(files: Files<'_>) -> Result<Self, TlsError> {
        let config = config(files)?;
        Ok(Self(Arc::new(RwLock::new(config))))
    }

    /// Uses what another one has from now on, which was read before; connections that are open keep what they
    /// had.
    pub fn adopt(&self, other: &Self) {
        let config = other.in_use();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    pub(crate) fn in_use(&self) -> Arc<ServerConfig> {
        let config = self.0.read().unwrap_or_else(PoisonError::into_inner);
        config.clone()
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.in_use())
    }
}

fn config(files: Files<'_>) -> Result<Arc<ServerConfig>, TlsError> {
    let Files {
        certificate,
        key,
        client_ca,
    } = files;
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key);
    let private = private.map_err(|error| wrong(key, "a private key", &error))?;
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

/// What may be spoken over an encrypted connection, the preferred first: gRPC needs HTTP/2.
fn protocols() -> Vec<Vec<u8>> {
    let all: &[&[u8]] = match cfg!(feature = "grpc") {
        true => &[b"h2", b"http/1.1"],
        false => &[b"http/1.1"],
    };
    all.iter().map(|name| name.to_vec()).collect()
}

/// The certificates in a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| wrong(path, "a certificate", &error))?;
    match found.is_empty() {
        true => Err(wrong(path, "a certificate", &"there is none in it")),
        false => Ok(found),
    }
}

fn wrong(path: &Path, expected: &'static str, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        expected,
        error: error.to_string(),
    }
}

/// As [`serve`](crate::serve()), encrypted. Handlers are told of a client's certificate by an extension, a
/// [`PeerCertificate`](crate::access::PeerCertificate).
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

/// A client that is slow to agree on the encryption keeps nobody waiting.
impl Door for Certificate {
    type Io = TlsStream<TcpStream>;

    const IS_PLAIN: bool = false;

    async fn open(&self, connection: TcpStream) -> io::Result<(Self::Io, Extensions)> {
        let stream = self.acceptor().accept(connection).await?;
        let mut known = Extensions::new();
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first);
        if let Some(certificate) = shown.and_then(|der| clients::read(der)) {
            known.insert(certificate);
        }
        Ok((stream, known))
    }
}
