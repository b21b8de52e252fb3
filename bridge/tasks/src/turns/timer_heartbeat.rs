//! Keeps a timer set at all times, which makes all other timers cheap.
//!
//! Each message sets timers of minutes, for its turn and for its waiting clients, and removes them again. tokio
//! wakes its reactor, with two system calls, whenever a new timer is the earliest one. That never happens if an
//! earlier timer always exists.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::sleep;

use super::{Turns, TurnsInner};

/// The interval of the timer.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

impl Turns {
    /// Keeps the timer running as long as these turns exist.
    pub(super) fn keep_heartbeat(&self) {
        let held = Arc::downgrade(&self.0);
        self.0.heartbeat.call_once(|| drop(tokio::spawn(run_heartbeat(held))));
    }
}

async fn run_heartbeat(held: Weak<TurnsInner>) {
    while held.strong_count() > 0 {
        sleep(HEARTBEAT_INTERVAL).await;
    }
}
