//! TLS by rustls: certificates, and serving with them.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::{
    Router,
    serve::{Listener, ListenerExt as _},
};
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

use crate::serve::hurry;

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

/// A certificate with its key, which may be renewed while it is used.
#[derive(Clone, Debug)]
pub struct Certificate(Arc<RwLock<Arc<ServerConfig>>>);

impl Certificate {
    /// Reads a certificate, with those that vouch for it, and its private key.
    ///
    /// # Errors
    /// If a file is missing, holds something else, or the two do not go together.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let config = config(certificate, key)?;
        Ok(Self(Arc::new(RwLock::new(config))))
    }

    /// Reads both again; connections that are open keep what they had.
    ///
    /// # Errors
    /// As [`read`](Self::read); then the old ones are used on.
    pub fn renew(&self, certificate: &Path, key: &Path) -> Result<(), TlsError> {
        let config = config(certificate, key)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    fn acceptor(&self) -> TlsAcceptor {
        let config = self.0.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(config.clone())
    }
}

fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let wrong =
        |path: &Path, expected: &'static str, error: &dyn std::fmt::Display| TlsError::File {
            path: path.to_owned(),
            expected,
            error: error.to_string(),
        };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(certificate, "a certificate", &error))?;
    let private = PrivateKeyDer::from_pem_file(key);
    let private = private.map_err(|error| wrong(key, "a private key", &error))?;
    let mismatch = |error| TlsError::Mismatch {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        error,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(mismatch)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(mismatch)?;
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

/// As [`serve`](crate::serve()), encrypted.
///
/// # Errors
/// If the listener has no address.
pub async fn serve(
    listener: TcpListener,
    certificate: Certificate,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // Only a listener of this kind tells who is connected.
    let listener = TlsListener::new(listener, certificate)?.tap_io(|_| {});
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
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
