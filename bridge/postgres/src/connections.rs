//! Runs statements on pools of connections: for readers, for writers and for the heartbeat of this process.

use std::{fmt, sync::Mutex, time::Duration};

use bridge_program::lock;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio::time::{Instant, timeout};
use tokio_postgres::{Config, Row, types::ToSql};

use crate::{
    PostgresSettings,
    failure::{self, Failure, describe, unavailable},
    limited_pool::{AcquireError, LimitedPool, PooledConnection},
    schema,
    servers::{CONNECT_TIMEOUT, RESULT_TIMEOUT, Servers},
};
use bridge_store::Result;

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
    pub(super) servers: Servers,
    outage: Mutex<Option<Outage>>,
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
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self> {
        let servers = Servers::new(settings)?;
        let writers = (settings.connections / 3).max(1);
        let readers = settings.connections.saturating_sub(writers).max(1);
        Ok(Self {
            readers: LimitedPool::new(pool(&servers, readers)?, RESULT_TIMEOUT),
            writers: LimitedPool::new(pool(&servers, writers)?, RESULT_TIMEOUT),
            heartbeat: LimitedPool::new(pool(&servers, 1)?, RESULT_TIMEOUT.min(settings.lease / 2)),
            servers,
            outage: Mutex::default(),
        })
    }

    /// Checks the server and creates missing tables.
    pub(super) async fn prepare(&self, address: &str) -> Result<()> {
        let mut pooled = self.acquire(&self.writers).await?;
        schema::prepare(&mut pooled.connection, address).await?;
        self.check_sessions(&pooled).await
    }

    /// Refuses a database behind a pooler that gives a session to whoever needs one, so that settings and notifications of
    /// a connection are lost. Such a pooler hands out again the session that was used last.
    async fn check_sessions(&self, one: &PooledConnection) -> Result<()> {
        // The server may allow no second connection.
        let Ok(other) = self.acquire(&self.readers).await else { return Ok(()) };
        let mut sessions = Vec::new();
        for pooled in [one, &other] {
            let asked = pooled.connection.query_typed("SELECT pg_backend_pid()", &[]).await;
            let rows = asked.map_err(|error| unavailable(describe(&error)))?;
            sessions.extend(rows.first().map(|row| row.get::<_, i32>(0)));
        }
        match sessions[..] {
            [one, other] if one == other => Err(failure::shared_session()),
            _ => Ok(()),
        }
    }

    /// Returns the largest number of connections for writers.
    pub(super) fn writers(&self) -> usize {
        self.writers.max_size()
    }

    /// Runs a read-only statement. If the connection is lost, the statement runs once more on another one.
    pub(super) async fn read(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>> {
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
    ) -> Result<Vec<Row>> {
        self.run_with_retry(&self.writers, sql, values).await
    }

    /// Runs an idempotent statement on the connection for the heartbeat, which does not wait for writers.
    pub(super) async fn write_heartbeat(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>> {
        self.run_with_retry(&self.heartbeat, sql, values).await
    }

    async fn run_with_retry(
        &self,
        pool: &LimitedPool,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<Row>> {
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
            Ok(Err(error)) => {
                let failure = Failure::new(&error);
                // The others are probably lost, too, and another attempt must not meet one of them.
                if let Failure::Unknown(_) = failure {
                    self.abandon(pooled);
                }
                Err(failure)
            }
            Err(_) => {
                self.abandon(pooled);
                Err(Failure::Unknown(format!("no answer within {:?}", pool.result_timeout)))
            }
        }
    }

    /// Closes a connection that was lost, or whose server does not answer or accepts no writes, and all others when they are
    /// not in use, because they are to the same server.
    fn abandon(&self, pooled: PooledConnection) {
        drop(Object::take(pooled.connection));
        for pool in [&self.readers, &self.writers, &self.heartbeat] {
            pool.renew();
        }
    }

    /// Returns a connection of this pool, or of another pool if this one has none and the server allows no more.
    async fn acquire(&self, pool: &LimitedPool) -> Result<PooledConnection> {
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
        *outage = Some(Outage { until, pause, reason });
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

/// Creates a pool of connections to the servers.
fn pool(servers: &Servers, size: usize) -> Result<Pool> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    // The servers have the configuration.
    let manager = Manager::from_connect(Config::new(), servers.clone(), recycling);
    let pool = Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(CONNECT_TIMEOUT))
        .create_timeout(Some(CONNECT_TIMEOUT))
        .recycle_timeout(Some(CONNECT_TIMEOUT))
        .build();
    pool.map_err(|error| unavailable(error.to_string()))
}
