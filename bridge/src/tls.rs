//! TLS by rustls: certificates, and serving with them.

mod clients;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::{Router, serve::Listener};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use bridge_program::hurry;

/// How long a client may take to agree on the encryption.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How many clients may be at that at once; further ones wait to be accepted.
const AT_ONCE: usize = 256;

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
/// If the listener has no address.
pub async fn serve(
    listener: TcpListener,
    certificate: Certificate,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = TlsListener::new(listener, certificate)?;
    let app = clients::told(app).into_make_service_with_connect_info::<clients::Peer>();
    axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await
}

/// A listener whose connections are encrypted. A client that is slow to agree on that keeps nobody waiting.
#[derive(Debug)]
struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
    accepting: AbortHandle,
}

impl TlsListener {
    fn new(listener: TcpListener, certificate: Certificate) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, ready) = mpsc::channel(AT_ONCE);
        let accepting = tokio::spawn(accept(listener, certificate, sender)).abort_handle();
        Ok(Self {
            ready,
            address,
            accepting,
        })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The one who accepts only ends with this listener.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn accept(
    mut listener: TcpListener,
    certificate: Certificate,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let (connection, peer) = Listener::accept(&mut listener).await;
        hurry(&connection);
        let (acceptor, ready) = (certificate.acceptor(), ready.clone());
        tokio::spawn(async move {
            match timeout(HANDSHAKE, acceptor.accept(connection)).await {
                Ok(Ok(stream)) => drop(ready.send((stream, peer)).await),
                Ok(Err(error)) => {
                    tracing::debug!(%peer, %error, "a client does not speak TLS with us");
                }
                Err(_) => tracing::debug!(%peer, "a client took too long to speak TLS"),
            }
            drop(place);
        });
    }
}
