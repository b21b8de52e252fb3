//! The state of each caller. A caller is a keyed hash, so that long ids take no more memory than short ones.
//!
//! Callers are distributed over shards with separate locks, which are held briefly: two callers rarely need the same
//! one.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash},
    num::NonZeroU32,
    sync::Mutex,
    time::Duration,
};

use bridge_program::lock;
use foldhash::quality::RandomState;

use crate::store::Unordered;

/// The number of shards, and of callers in each: 64 Ki callers together, in about 3 MiB.
const SHARDS: usize = 64;
const CALLERS_PER_SHARD: usize = 1 << 10;

/// The state of a caller. The state of an idle caller is the same as that of an unknown one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallerState {
    /// The time until which its requests use up its share.
    pub(super) until: Duration,
    /// A count, which depends on the limit.
    pub(super) count: u32,
    /// The number of its requests that are being answered.
    pub(super) running: u32,
}

/// A token bucket in the form of a time (the generic cell rate algorithm): each request moves `until` forward by the
/// time for one token, and may come before that by at most the time for a full bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    each: Duration,
    burst: Duration,
}

impl Pace {
    /// Creates a pace of this many requests in each period, of which those of some periods may come at once.
    pub(super) fn new(count: NonZeroU32, period: Duration, periods_at_once: u32) -> Self {
        Self {
            each: (period / count.get()).max(Duration::from_nanos(1)),
            burst: period * periods_at_once,
        }
    }

    /// Takes a token, and returns the time to wait for it. If that is longer than the patience, none is taken, and the
    /// error is the time until there is one.
    pub(super) fn take(
        &self,
        state: &mut CallerState,
        now: Duration,
        patience: Duration,
    ) -> Result<Duration, Duration> {
        let wait = self.wait(state, now);
        if wait > patience {
            return Err(wait);
        }
        state.until = state.until.max(now) + self.each;
        Ok(wait)
    }

    /// Returns the time until there is a token; zero if there is one.
    pub(super) fn wait(&self, state: &CallerState, now: Duration) -> Duration {
        (state.until.max(now) + self.each).saturating_sub(now + self.burst)
    }
}

/// The states of all callers.
pub(super) struct Buckets {
    /// Whether states with a count are always kept. Their number must then be limited elsewhere.
    keeps_counts: bool,
    hasher: RandomState,
    shards: [Mutex<Unordered<u64, CallerState>>; SHARDS],
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            keeps_counts: false,
            hasher: RandomState::default(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl Buckets {
    /// Creates buckets that keep each state as long as its count is not zero.
    pub(super) fn keeping_counts() -> Self {
        Self { keeps_counts: true, ..Self::default() }
    }

    /// Returns the key of a caller. Other callers cannot choose ids with the same key.
    pub(super) fn key(&self, caller: &impl Hash) -> u64 {
        self.hasher.hash_one(caller)
    }

    /// Reads or changes a caller's state.
    pub(super) fn with<T>(
        &self,
        key: u64,
        now: Duration,
        change: impl FnOnce(&mut CallerState) -> T,
    ) -> T {
        let index = usize::try_from(key % SHARDS as u64).unwrap_or_default();
        let mut shard = lock(&self.shards[index]);
        let is_kept = |state: &CallerState| self.keeps_counts && state.count.max(state.running) > 0;
        if shard.len() >= CALLERS_PER_SHARD && !shard.contains_key(&key) {
            shard.retain(|_, state| is_kept(state) || state.until > now);
            if shard.len() >= CALLERS_PER_SHARD {
                // This many callers at once are one attacker with many addresses, or limits for single callers have
                // little effect: the limits of the whole program apply.
                shard.retain(|_, state| is_kept(state));
            }
        }
        let state = shard.entry(key).or_default();
        let result = change(state);
        if !is_kept(state) && state.until <= now {
            shard.remove(&key);
        }
        result
    }

    /// Returns the number of known callers.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let shards = self.shards.iter();
        shards.map(|shard| shard.lock().unwrap().len()).sum()
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Buckets")
    }
}
