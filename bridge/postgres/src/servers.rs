//! Connects to the server of an address, or of several servers to the one that accepts writes.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::Connect;
use futures_util::future::{self, BoxFuture};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::{task::JoinHandle, time::timeout};
use tokio_postgres::{
    Client, Config, Connection, Error, NoTls, Socket,
    config::{SslMode, TargetSessionAttrs},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    PostgresSettings,
    address::Encryption,
    failure::{describe, unavailable},
};
use bridge_store::{Result, StoreError};

/// The time limit for making a connection, and for waiting until one is free.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for which this process waits for the result of a statement.
pub(super) const RESULT_TIMEOUT: Duration = Duration::from_secs(15);

/// The settings of a session for statements. They are no startup parameters, since poolers refuse those. The server cancels
/// statements after this time, and not before. A commit is durable on the server at least.
const SESSION: &str =
    "SET statement_timeout = '10s'; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = '10s';
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'local', false) WHERE current_setting('synchronous_commit') = 'off'";

/// The servers of an address, with the encryption of their connections.
#[derive(Clone)]
pub(super) struct Servers {
    settings: Arc<PostgresSettings>,
    pub(super) tls: Option<MakeRustlsConnect>,
    /// The number of the server that is tried first: the last one that accepted a connection.
    first: Arc<AtomicUsize>,
}

impl Servers {
    /// # Errors
    /// If the root certificates cannot be read.
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self> {
        let tls = match &settings.encryption {
            Encryption::Plain => None,
            Encryption::Tls { roots } => {
                Some(MakeRustlsConnect::new(tls_config(roots.as_deref())?))
            }
        };
        Ok(Self { settings: Arc::new(settings.clone()), tls, first: Arc::default() })
    }

    /// Connects to the first server that accepts writes. Each server has a part of the time, since one that has lost its
    /// power does not answer. The caller limits the whole time.
    pub(super) async fn connect<T>(
        &self,
        tls: T,
    ) -> Result<(Client, Connection<Socket, T::Stream>), Error>
    where
        T: MakeTlsConnect<Socket> + Clone,
    {
        let servers = self.settings.servers();
        let limit = CONNECT_TIMEOUT / servers.len().clamp(1, 2) as u32;
        let mut failure = None;
        for _ in 0..servers.len() {
            let number = self.first.load(Ordering::Relaxed);
            let config = self.connection_config(&servers[number % servers.len()], limit / 2);
            match timeout(limit, config.connect(tls.clone())).await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(error)) => failure = Some(error),
                Err(_) => {}
            }
            // If another connection has changed the number meanwhile, it knows a better server.
            let (from, to) = (number, number.wrapping_add(1));
            let order = Ordering::Relaxed;
            let _ = self.first.compare_exchange(from, to, order, order);
        }
        match failure {
            Some(error) => Err(error),
            // No server has answered, and the caller's time is over.
            None => future::pending().await,
        }
    }

    /// Returns the configuration of a connection to one server. `limit` is the time for each address of its name.
    fn connection_config(&self, server: &Config, limit: Duration) -> Config {
        let mut config = server.clone();
        config
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(limit)
            .tcp_user_timeout(RESULT_TIMEOUT)
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3)
            .ssl_mode(match self.tls {
                Some(_) => SslMode::Require,
                None => SslMode::Disable,
            });
        config
    }

    async fn connect_for_statements<T>(&self, tls: T) -> Result<(Client, JoinHandle<()>), Error>
    where
        T: MakeTlsConnect<Socket> + Clone,
        T::Stream: Send + 'static,
    {
        let (client, connection) = self.connect(tls).await?;
        let connection = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = describe(&error), "a connection has ended");
            }
        });
        client.batch_execute(SESSION).await?;
        Ok((client, connection))
    }
}

impl Connect for Servers {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        match self.tls.clone() {
            Some(tls) => Box::pin(self.connect_for_statements(tls)),
            None => Box::pin(self.connect_for_statements(NoTls)),
        }
    }
}

/// Creates the TLS configuration, with the root certificates in this file or those of public authorities.
fn tls_config(roots: Option<&Path>) -> Result<ClientConfig> {
    let mut root_store = RootCertStore::empty();
    match roots {
        None => root_store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let wrong = |reason: String| StoreError::Io {
                doing: format!("sslrootcert: reading {}", path.display()),
                error: io::Error::other(reason),
            };
            let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                let added = root_store.add(certificate);
                added.map_err(|error| wrong(error.to_string()))?;
            }
            if root_store.is_empty() {
                return Err(wrong("expected certificates in PEM, found none".to_owned()));
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unavailable(error.to_string()))?;
    Ok(config.with_root_certificates(root_store).with_no_client_auth())
}
