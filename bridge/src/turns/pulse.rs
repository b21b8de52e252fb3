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

use super::{Shared, Turns};

/// How often that timer is set again.
const PULSE: Duration = Duration::from_secs(1);

impl Turns {
    /// Keeps the timer for as long as somebody holds these turns.
    pub(super) fn keep_pulse(&self) {
        let held = Arc::downgrade(&self.0);
        self.0.pulse.call_once(|| drop(tokio::spawn(beat(held))));
    }
}

async fn beat(held: Weak<Shared>) {
    while held.strong_count() > 0 {
        sleep(PULSE).await;
    }
}
