//! Wrong credentials of an address. While somebody shows wrong ones, good ones are remembered as a keyed hash, so that
//! those who share the attacker's address are still let in. That decides only whether credentials are checked.

use std::{
    net::IpAddr,
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::buckets::{Buckets, Pace};

/// The period of the limit, and how long good credentials are remembered.
const PERIOD: Duration = Duration::from_secs(60);
const MEMORY: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Guesses {
    pace: Pace,
    addresses: Buckets,
    good: Buckets,
    /// Until when somebody has been wrong lately, in seconds since the start.
    alert: AtomicU64,
}

impl Guesses {
    pub(super) fn new(a_minute: NonZeroU32) -> Self {
        Self {
            pace: Pace::new(a_minute, PERIOD, 1),
            addresses: Buckets::default(),
            good: Buckets::default(),
            alert: AtomicU64::new(0),
        }
    }

    /// Whether credentials of this address are checked; the error is when they will be.
    pub(super) fn allows(
        &self,
        address: IpAddr,
        shown: impl FnOnce() -> String,
        now: Duration,
    ) -> Result<(), Duration> {
        if !self.is_alert(now) {
            return Ok(());
        }
        let key = self.addresses.key(&address);
        let wait = self
            .addresses
            .with(key, now, |spot| self.pace.wait(spot, now));
        let is_good = || {
            let key = self.good.key(&shown());
            self.good.with(key, now, |spot| spot.until > now)
        };
        match wait {
            Duration::ZERO => Ok(()),
            _ if is_good() => Ok(()),
            wait => Err(wait),
        }
    }

    pub(super) fn wrong(&self, address: IpAddr, now: Duration) {
        self.alert
            .store((now + MEMORY).as_secs(), Ordering::Relaxed);
        let key = self.addresses.key(&address);
        // Others may have been checked at the same time, so one more than the limit is no contradiction.
        let _ = self
            .addresses
            .with(key, now, |spot| self.pace.take(spot, now, PERIOD));
    }

    pub(super) fn right(&self, shown: impl FnOnce() -> String, now: Duration) {
        if self.is_alert(now) {
            let key = self.good.key(&shown());
            self.good.with(key, now, |spot| spot.until = now + MEMORY);
        }
    }

    fn is_alert(&self, now: Duration) -> bool {
        self.alert.load(Ordering::Relaxed) > now.as_secs()
    }
}
