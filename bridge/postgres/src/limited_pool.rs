//! Limits a pool to the number of connections that the server allows.
//!
//! A server may allow fewer connections than the settings. An operation that cannot get a new connection then waits for an
//! existing one, and the limit is raised again later.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_program::lock;
use deadpool_postgres::{Object, Pool};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use crate::failure;

/// The time after which refused connections are tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(3);

/// The time limit for a further connection. A pooler that allows no more lets them wait; an operation then has some time left
/// to wait for one that exists.
const EXTRA_CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A pool with a permit for each connection that the server allows.
pub(super) struct LimitedPool {
    pool: Pool,
    permits: Arc<Semaphore>,
    refused: Mutex<RefusedConnections>,
    /// The time before which connections were made that are not used any more.
    renewed: Mutex<std::time::Instant>,
    /// The time for which the result of a statement is awaited.
    pub(super) result_timeout: Duration,
}

/// The permits that were removed because the server refused connections.
struct RefusedConnections {
    count: usize,
    until: Instant,
}

/// A connection of the pool, with its permit.
pub(super) struct PooledConnection {
    // The connection is returned before its permit, since fields are dropped in order.
    pub(super) connection: Object,
    _permit: OwnedSemaphorePermit,
}

/// The reason for which no connection was returned.
pub(super) enum AcquireError {
    /// All connections are in use.
    Busy,
    /// The pool has no connection, and none can be made.
    NoConnection(String),
}

impl LimitedPool {
    /// Wraps a pool; `result_timeout` is the time for which results are awaited.
    pub(super) fn new(pool: Pool, result_timeout: Duration) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(pool.status().max_size)),
            pool,
            refused: Mutex::new(RefusedConnections { count: 0, until: Instant::now() }),
            renewed: Mutex::new(std::time::Instant::now()),
            result_timeout,
        }
    }

    /// Returns the largest number of connections.
    pub(super) fn max_size(&self) -> usize {
        self.pool.status().max_size
    }

    pub(super) fn has_connections(&self) -> bool {
        self.pool.status().size > 0
    }

    /// Closes all connections: those that are not in use at once, and each other one before its next use.
    pub(super) fn renew(&self) {
        *lock(&self.renewed) = std::time::Instant::now();
        self.pool.retain(|_, _| false);
    }

    /// Returns a connection, and waits for a free one until `deadline`.
    pub(super) async fn acquire(
        &self,
        deadline: Instant,
    ) -> Result<PooledConnection, AcquireError> {
        let mut is_second_attempt = false;
        loop {
            self.restore_permits();
            let permit = timeout_at(deadline, Arc::clone(&self.permits).acquire_owned());
            let Ok(Ok(permit)) = permit.await else {
                return Err(AcquireError::Busy);
            };
            let mut limits = self.pool.timeouts();
            if self.has_connections() {
                limits.create = Some(EXTRA_CONNECT_TIMEOUT);
            }
            match self.pool.timeout_get(&limits).await {
                Ok(old) if Object::metrics(&old).created < *lock(&self.renewed) => {
                    drop(Object::take(old));
                }
                Ok(connection) => {
                    return Ok(PooledConnection { connection, _permit: permit });
                }
                Err(error) => {
                    let reason = failure::describe_pool_error(&error);
                    if !self.has_connections() {
                        // The new connection may have been ended like all others.
                        if !is_second_attempt && Instant::now() < deadline {
                            is_second_attempt = true;
                            continue;
                        }
                        return Err(AcquireError::NoConnection(reason));
                    }
                    tracing::debug!(reason, "fewer connections are used for a while");
                    self.remove_permit(permit);
                }
            }
        }
    }

    /// Removes a permit, until the refused connections are tried again.
    fn remove_permit(&self, permit: OwnedSemaphorePermit) {
        let mut refused = lock(&self.refused);
        permit.forget();
        if refused.count == 0 {
            refused.until = Instant::now() + RETRY_PAUSE;
        }
        refused.count += 1;
    }

    fn restore_permits(&self) {
        let mut refused = lock(&self.refused);
        if refused.count > 0 && Instant::now() >= refused.until {
            self.permits.add_permits(refused.count);
            refused.count = 0;
        }
    }
}
