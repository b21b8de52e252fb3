//! Connections that are lent, as many as the server allows.
//!
//! A server may allow fewer connections than the settings say. Whoever gets no further one then waits for one that
//! lives, and the number is tried again later.

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

/// The time after which connections are tried again that the server did not allow.
const AGAIN: Duration = Duration::from_secs(3);

/// A pool with a place for each connection that the server allows.
pub(super) struct LimitedPool {
    pool: Pool,
    places: Arc<Semaphore>,
    missing: Mutex<Missing>,
    /// The time for which an answer is waited for.
    pub(super) answer: Duration,
}

/// Places for connections that the server did not allow.
struct Missing {
    count: usize,
    until: Instant,
}

/// A connection that is lent.
pub(super) struct Lent {
    // It is given back before its place.
    pub(super) connection: Object,
    _place: OwnedSemaphorePermit,
}

/// Why no connection is lent.
pub(super) enum NotLent {
    /// All are in use.
    Busy,
    /// There is none.
    NoneLives(String),
}

impl LimitedPool {
    /// Lends connections of this pool, whose answers are waited for as long as this.
    pub(super) fn new(pool: Pool, answer: Duration) -> Self {
        Self {
            places: Arc::new(Semaphore::new(pool.status().max_size)),
            pool,
            missing: Mutex::new(Missing {
                count: 0,
                until: Instant::now(),
            }),
            answer,
        }
    }

    /// The largest number of connections.
    pub(super) fn largest(&self) -> usize {
        self.pool.status().max_size
    }

    /// Whether there is any connection.
    pub(super) fn lives(&self) -> bool {
        self.pool.status().size > 0
    }

    /// Lends a connection, and waits until then for one that lives.
    pub(super) async fn lend(&self, until: Instant) -> Result<Lent, NotLent> {
        loop {
            self.try_missing_again();
            let place = timeout_at(until, Arc::clone(&self.places).acquire_owned());
            let Ok(Ok(place)) = place.await else {
                return Err(NotLent::Busy);
            };
            match self.pool.get().await {
                Ok(connection) => {
                    return Ok(Lent {
                        connection,
                        _place: place,
                    });
                }
                Err(error) => {
                    let reason = failure::of_pool(&error);
                    if !self.lives() {
                        return Err(NotLent::NoneLives(reason));
                    }
                    tracing::debug!(reason, "fewer connections are used for a while");
                    self.go_without(place);
                }
            }
        }
    }

    /// Takes away a place. Those of connections that live stay.
    fn go_without(&self, place: OwnedSemaphorePermit) {
        let mut missing = lock(&self.missing);
        place.forget();
        if missing.count == 0 {
            missing.until = Instant::now() + AGAIN;
        }
        missing.count += 1;
    }

    fn try_missing_again(&self) {
        let mut missing = lock(&self.missing);
        if missing.count > 0 && Instant::now() >= missing.until {
            self.places.add_permits(missing.count);
            missing.count = 0;
        }
    }
}
