//! Connections to the database: pools for readers and writers, one by which this process says that it lives, and single
//! ones for notifications.

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
    limited_pool::{Lent, LimitedPool, NotLent},
    schema,
};
use bridge_store::StoreError;

/// The time for making a connection, and for waiting until one is free.
const CONNECT: Duration = Duration::from_secs(5);

/// The time after which the server gives up a statement, and the time after which it is not waited for.
const STATEMENT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(15);

/// The first and the longest pause after a failed attempt to connect, in which operations fail at once.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(3)];

/// The parameters of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections of one process.
pub(super) struct Connections {
    readers: LimitedPool,
    writers: LimitedPool,
    /// That by which this process says that it lives, whatever readers and writers wait for.
    member: LimitedPool,
    pub(super) plan: Plan,
    outage: Mutex<Option<Outage>>,
}

/// How a connection is made.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// A time in which the database could not be reached.
#[derive(Debug)]
struct Outage {
    until: Instant,
    pause: Duration,
    reason: String,
}

impl Connections {
    /// Prepares connections. None is made yet.
    ///
    /// # Errors
    /// If the root certificates cannot be read.
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, StoreError> {
        let plan = Plan::of(settings)?;
        let writers = (settings.connections / 3).max(1);
        let readers = settings.connections.saturating_sub(writers).max(1);
        Ok(Self {
            readers: LimitedPool::new(plan.pool(readers)?, ANSWER),
            writers: LimitedPool::new(plan.pool(writers)?, ANSWER),
            member: LimitedPool::new(plan.pool(1)?, ANSWER.min(settings.lease / 2)),
            plan,
            outage: Mutex::default(),
        })
    }

    /// Checks the server and makes the tables that are missing.
    ///
    /// # Errors
    /// `Unavailable`, and those of [`schema::prepare`].
    pub(super) async fn prepare(&self, address: &str) -> Result<(), StoreError> {
        let mut lent = self.lend(&self.writers).await?;
        schema::prepare(&mut lent.connection, address).await
    }

    /// The number of connections for writers.
    pub(super) fn writers(&self) -> usize {
        self.writers.largest()
    }

    /// Runs a statement that changes nothing. A connection that was lost meanwhile is replaced once.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_again(&self.readers, sql, values).await
    }

    /// Runs a statement that changes something, as one transaction.
    pub(super) async fn write(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Failure> {
        self.run(&self.writers, sql, values).await
    }

    /// Runs a statement that may be run twice without harm.
    pub(super) async fn write_again(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_again(&self.writers, sql, values).await
    }

    /// Runs a statement about the life of this process that may be run twice without harm. It does not wait for writers.
    pub(super) async fn write_as_member(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_again(&self.member, sql, values).await
    }

    async fn run_again(
        &self,
        pool: &LimitedPool,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        match self.run(pool, sql, values).await {
            Err(Failure::Unknown(_) | Failure::Again) => {
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
        let lent = self.lend(pool).await.map_err(Failure::Refused)?;
        let answered = timeout(pool.answer, async {
            let statement = lent.connection.prepare_cached(sql).await?;
            lent.connection.query(&statement, values).await
        });
        match answered.await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => Err(Failure::of(&error)),
            Err(_) => {
                // What it answers later would be taken for the answer to something else.
                drop(Object::take(lent.connection));
                Err(Failure::Unknown(format!(
                    "no answer within {:?}",
                    pool.answer
                )))
            }
        }
    }

    /// Lends a connection of this pool, or of another one if this has none and the server allows no more.
    async fn lend(&self, pool: &LimitedPool) -> Result<Lent, StoreError> {
        if !pool.lives()
            && let Some(outage) = lock(&self.outage).as_ref()
            && Instant::now() < outage.until
        {
            return Err(unavailable(outage.reason.clone()));
        }
        let until = Instant::now() + CONNECT;
        let mut not_lent = match pool.lend(until).await {
            Ok(lent) => return Ok(self.without_outage(lent)),
            Err(reason) => reason,
        };
        for other in [&self.writers, &self.readers] {
            if matches!(not_lent, NotLent::NoneLives(_)) && other.lives() {
                match other.lend(until).await {
                    Ok(lent) => return Ok(self.without_outage(lent)),
                    Err(reason) => not_lent = reason,
                }
            }
        }
        match not_lent {
            NotLent::Busy => Err(unavailable("no connection became free in time")),
            NotLent::NoneLives(reason) => {
                self.note_outage(reason.clone());
                Err(unavailable(reason))
            }
        }
    }

    fn without_outage(&self, lent: Lent) -> Lent {
        *lock(&self.outage) = None;
        lent
    }

    fn note_outage(&self, reason: String) {
        let mut outage = lock(&self.outage);
        let before = outage.as_ref().map(|before| before.pause * 2);
        let pause = before.map_or(PAUSES[0], |pause| pause.min(PAUSES[1]));
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
            .field("readers", &self.readers.largest())
            .field("writers", &self.writers.largest())
            .finish_non_exhaustive()
    }
}

impl Plan {
    fn of(settings: &PostgresSettings) -> Result<Self, StoreError> {
        let mut config = settings.with_password();
        let options = config.get_options().unwrap_or_default().to_owned();
        let limit = STATEMENT.as_millis();
        config
            .options(format!(
                "{options} -c statement_timeout={limit} -c idle_in_transaction_session_timeout={limit} \
                 -c default_transaction_isolation=read\\ committed"
            ))
            .connect_timeout(CONNECT)
            .tcp_user_timeout(ANSWER)
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
                let trusted = trusted(roots.as_deref())?;
                Some(MakeRustlsConnect::new(trusted))
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
            .wait_timeout(Some(CONNECT))
            .create_timeout(Some(CONNECT))
            .recycle_timeout(Some(CONNECT))
            .build();
        pool.map_err(|error| unavailable(error.to_string()))
    }
}

/// The settings of TLS, with the certificates in this file or those of public authorities.
fn trusted(roots: Option<&std::path::Path>) -> Result<ClientConfig, StoreError> {
    let mut trusted = RootCertStore::empty();
    match roots {
        None => trusted.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let wrong = |reason: String| StoreError::Io {
                doing: format!("sslrootcert: reading {}", path.display()),
                source: io::Error::other(reason),
            };
            let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                let added = trusted.add(certificate);
                added.map_err(|error| wrong(error.to_string()))?;
            }
            if trusted.is_empty() {
                return Err(wrong("expected certificates in PEM, found none".to_owned()));
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unavailable(error.to_string()))?;
    Ok(config.with_root_certificates(trusted).with_no_client_auth())
}
