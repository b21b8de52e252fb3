//! A timer that is always set, so that setting others costs nothing.
//!
//! Each message sets timers of minutes, for its turn and for who waits, and takes them back. tokio wakes its
//! reactor, by two system calls, whenever a timer is set that comes before all others: never, if there is one
//! that comes sooner anyway.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::sleep;

use super::{Turns, TurnsInner};

/// How often that timer is set again.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

impl Turns {
    /// Keeps the timer for as long as somebody holds these turns.
    pub(super) fn keep_heartbeat(&self) {
        let held = Arc::downgrade(&self.0);
        self.0
            .heartbeat
            .call_once(|| drop(tokio::spawn(run_heartbeat(held))));
    }
}

async fn run_heartbeat(held: Weak<TurnsInner>) {
    while held.strong_count() > 0 {
        sleep(HEARTBEAT_INTERVAL).await;
    }
}
