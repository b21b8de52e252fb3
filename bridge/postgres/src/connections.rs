//! Connects to the database: pools for readers, for writers and for the heartbeat of this process, and the configuration of
//! single connections for notifications.

use std::{
    fmt, fs, io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_program::lock;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::time::{Instant, timeout};
use tokio_postgres::{Config, NoTls, Row, config::SslMode, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    PostgresSettings,
    address::Encryption,
    failure::{Failure, unavailable},
    limited_pool::{AcquireError, LimitedPool, PooledConnection},
    schema,
};
use bridge_store::StoreError;

/// The time limit for making a connection, and for waiting until one is free.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which the server cancels a statement, and the time for which this process waits for the result.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
const RESULT_TIMEOUT: Duration = Duration::from_secs(15);

/// The first and the longest pause after a failed attempt to connect. During the pause all operations fail at once.
const RECONNECT_PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(3)];

/// The parameters of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections of one process.
pub(super) struct Connections {
    readers: LimitedPool,
    writers: LimitedPool,
    /// The connection for the heartbeat of this process, which does not wait for readers and writers.
    heartbeat: LimitedPool,
    pub(super) config: ConnectionConfig,
    outage: Mutex<Option<Outage>>,
}

/// The configuration of a connection.
#[derive(Clone)]
pub(super) struct ConnectionConfig {
    pub(super) config: Config,
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// A period in which the database could not be reached.
#[derive(Debug)]
struct Outage {
    until: Instant,
    pause: Duration,
    reason: String,
}

impl Connections {
    /// Creates the pools without connecting.
    ///
    /// # Errors
    /// If the root certificates cannot be read.
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, StoreError> {
        let config = ConnectionConfig::new(settings)?;
        let writers = (settings.connections / 3).max(1);
        let readers = settings.connections.saturating_sub(writers).max(1);
        Ok(Self {
            readers: LimitedPool::new(config.pool(readers)?, RESULT_TIMEOUT),
            writers: LimitedPool::new(config.pool(writers)?, RESULT_TIMEOUT),
            heartbeat: LimitedPool::new(config.pool(1)?, RESULT_TIMEOUT.min(settings.lease / 2)),
            config,
            outage: Mutex::default(),
        })
    }

    /// Checks the server and creates missing tables.
    ///
    /// # Errors
    /// `Unavailable`, and those of [`schema::prepare`].
    pub(super) async fn prepare(&self, address: &str) -> Result<(), StoreError> {
        let mut pooled = self.acquire(&self.writers).await?;
        schema::prepare(&mut pooled.connection, address).await
    }

    /// Returns the largest number of connections for writers.
    pub(super) fn writers(&self) -> usize {
        self.writers.max_size()
    }

    /// Runs a read-only statement. If the connection is lost, the statement runs once more on another one.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_with_retry(&self.readers, sql, values).await
    }

    /// Runs a statement that changes data, as one transaction.
    pub(super) async fn write(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Failure> {
        self.run(&self.writers, sql, values).await
    }

    /// Runs an idempotent statement that changes data. If the connection is lost, the statement runs once more.
    pub(super) async fn write_idempotent(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_with_retry(&self.writers, sql, values).await
    }

    /// Runs an idempotent statement on the connection for the heartbeat, which does not wait for writers.
    pub(super) async fn write_heartbeat(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_with_retry(&self.heartbeat, sql, values).await
    }

    async fn run_with_retry(
        &self,
        pool: &LimitedPool,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        match self.run(pool, sql, values).await {
            Err(Failure::Unknown(_) | Failure::RolledBack) => {
                let again = self.run(pool, sql, values).await;
                again.map_err(Failure::into_error)
            }
            done => done.map_err(Failure::into_error),
        }
    }

    async fn run(
        &self,
        pool: &LimitedPool,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let pooled = self.acquire(pool).await.map_err(Failure::Refused)?;
        let answered = timeout(pool.result_timeout, async {
            let statement = pooled.connection.prepare_cached(sql).await?;
            pooled.connection.query(&statement, values).await
        });
        match answered.await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => Err(Failure::new(&error)),
            Err(_) => {
                // A late result would be taken for the result of another statement.
                drop(Object::take(pooled.connection));
                Err(Failure::Unknown(format!(
                    "no answer within {:?}",
                    pool.result_timeout
                )))
            }
        }
    }

    /// Returns a connection of this pool, or of another pool if this one has none and the server allows no more.
    async fn acquire(&self, pool: &LimitedPool) -> Result<PooledConnection, StoreError> {
        if !pool.has_connections()
            && let Some(outage) = lock(&self.outage).as_ref()
            && Instant::now() < outage.until
        {
            return Err(unavailable(outage.reason.clone()));
        }
        let until = Instant::now() + CONNECT_TIMEOUT;
        let mut failure = match pool.acquire(until).await {
            Ok(pooled) => return Ok(self.end_outage(pooled)),
            Err(reason) => reason,
        };
        for other in [&self.writers, &self.readers] {
            if matches!(failure, AcquireError::NoConnection(_)) && other.has_connections() {
                match other.acquire(until).await {
                    Ok(pooled) => return Ok(self.end_outage(pooled)),
                    Err(reason) => failure = reason,
                }
            }
        }
        match failure {
            AcquireError::Busy => Err(unavailable("no connection became free in time")),
            AcquireError::NoConnection(reason) => {
                self.note_outage(reason.clone());
                Err(unavailable(reason))
            }
        }
    }

    fn end_outage(&self, pooled: PooledConnection) -> PooledConnection {
        *lock(&self.outage) = None;
        pooled
    }

    fn note_outage(&self, reason: String) {
        let mut outage = lock(&self.outage);
        let before = outage.as_ref().map(|before| before.pause * 2);
        let pause = before.map_or(RECONNECT_PAUSES[0], |pause| pause.min(RECONNECT_PAUSES[1]));
        let until = Instant::now() + pause;
        *outage = Some(Outage {
            until,
            pause,
            reason,
        });
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("readers", &self.readers.max_size())
            .field("writers", &self.writers.max_size())
            .finish_non_exhaustive()
    }
}

impl ConnectionConfig {
    fn new(settings: &PostgresSettings) -> Result<Self, StoreError> {
        let mut config = settings.with_password();
        let options = config.get_options().unwrap_or_default().to_owned();
        let limit = STATEMENT_TIMEOUT.as_millis();
        config
            .options(format!(
                "{options} -c statement_timeout={limit} -c idle_in_transaction_session_timeout={limit} \
                 -c default_transaction_isolation=read\\ committed"
            ))
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(RESULT_TIMEOUT)
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        if config.get_application_name().is_none() {
            config.application_name("bridge");
        }
        let tls = match &settings.encryption {
            Encryption::Plain => {
                config.ssl_mode(SslMode::Disable);
                None
            }
            Encryption::Tls { roots } => {
                config.ssl_mode(SslMode::Require);
                let tls_config = tls_config(roots.as_deref())?;
                Some(MakeRustlsConnect::new(tls_config))
            }
        };
        Ok(Self { config, tls })
    }

    fn pool(&self, size: usize) -> Result<Pool, StoreError> {
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = match &self.tls {
            Some(tls) => Manager::from_config(self.config.clone(), tls.clone(), recycling),
            None => Manager::from_config(self.config.clone(), NoTls, recycling),
        };
        let pool = Pool::builder(manager)
            .max_size(size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .build();
        pool.map_err(|error| unavailable(error.to_string()))
    }
}

/// Creates the TLS configuration, with the root certificates in this file or those of public authorities.
fn tls_config(roots: Option<&std::path::Path>) -> Result<ClientConfig, StoreError> {
    let mut root_store = RootCertStore::empty();
    match roots {
        None => root_store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let wrong = |reason: String| StoreError::Io {
                doing: format!("sslrootcert: reading {}", path.display()),
                source: io::Error::other(reason),
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
    Ok(config
        .with_root_certificates(root_store)
        .with_no_client_auth())
}
