//! Wrong credentials of an address. While somebody sends wrong ones, good ones are remembered as a keyed hash, so that
//! clients behind the attacker's address are still let in. This only decides whether credentials are checked.

use std::{
    net::IpAddr,
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::buckets::{Buckets, Pace};

/// The period of the limit, and the time for which good credentials are remembered.
const PERIOD: Duration = Duration::from_secs(60);
const MEMORY: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Guesses {
    pace: Pace,
    addresses: Buckets,
    good: Buckets,
    /// The end of the time after wrong credentials, in seconds since the start.
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

    /// Returns whether credentials of this address are checked; the error is the time until they are.
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
        let wait = self.addresses.with(key, now, |state| self.pace.wait(state, now));
        let is_good = || {
            let key = self.good.key(&shown());
            self.good.with(key, now, |state| state.until > now)
        };
        match wait {
            Duration::ZERO => Ok(()),
            _ if is_good() => Ok(()),
            wait => Err(wait),
        }
    }

    pub(super) fn wrong(&self, address: IpAddr, now: Duration) {
        self.alert.store((now + MEMORY).as_secs(), Ordering::Relaxed);
        let key = self.addresses.key(&address);
        // Others may have been checked at the same time, so one more than the limit is possible.
        let _ = self.addresses.with(key, now, |state| self.pace.take(state, now, PERIOD));
    }

    pub(super) fn right(&self, shown: impl FnOnce() -> String, now: Duration) {
        if self.is_alert(now) {
            let key = self.good.key(&shown());
            self.good.with(key, now, |state| state.until = now + MEMORY);
        }
    }

    fn is_alert(&self, now: Duration) -> bool {
        self.alert.load(Ordering::Relaxed) > now.as_secs()
    }
}
