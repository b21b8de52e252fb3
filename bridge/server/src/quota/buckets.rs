//! What is known of each caller. A caller is a keyed hash, so that long ids take no more memory than short ones.
//!
//! Callers are spread over shards with a lock each, which is held for a few additions: two callers rarely meet.

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

/// What is known of a caller. One that is idle is as good as unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    /// The time until which its requests use up its share.
    pub(super) until: Duration,
    /// How many of something it has, or may still have.
    pub(super) count: u32,
    /// How many of its requests are being answered.
    pub(super) running: u32,
}

/// A token bucket as a time (the generic cell rate algorithm): each request moves `until` by the time in which a
/// token comes, and may come at most a bucketful of tokens before that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    each: Duration,
    burst: Duration,
}

impl Pace {
    /// So many in each period, of which those of some periods may come at once.
    pub(super) fn new(count: NonZeroU32, period: Duration, periods_at_once: u32) -> Self {
        Self {
            each: (period / count.get()).max(Duration::from_nanos(1)),
            burst: period * periods_at_once,
        }
    }

    /// Takes a token and returns how long to wait for it. If that is longer than the patience, none is taken, and the
    /// error is when there will be one.
    pub(super) fn take(
        &self,
        spot: &mut Spot,
        now: Duration,
        patience: Duration,
    ) -> Result<Duration, Duration> {
        let after = spot.until.max(now) + self.each;
        let wait = after.saturating_sub(now + self.burst);
        if wait > patience {
            return Err(wait);
        }
        spot.until = after;
        Ok(wait)
    }

    /// When there will be a token; zero if there is one.
    pub(super) fn wait(&self, spot: &Spot, now: Duration) -> Duration {
        (spot.until.max(now) + self.each).saturating_sub(now + self.burst)
    }
}

/// The spots of all callers.
pub(super) struct Buckets {
    /// Whether a spot that counts something is kept in any case. Something else must bound their number.
    keeps_counts: bool,
    hasher: RandomState,
    shards: [Mutex<Unordered<u64, Spot>>; SHARDS],
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
    /// Keeps each spot as long as it counts something.
    pub(super) fn that_keep_counts() -> Self {
        Self {
            keeps_counts: true,
            ..Self::default()
        }
    }

    /// The key of a caller. Others cannot choose ids that have the same.
    pub(super) fn key(&self, caller: &impl Hash) -> u64 {
        self.hasher.hash_one(caller)
    }

    /// Reads or changes a caller's spot.
    pub(super) fn with<T>(
        &self,
        key: u64,
        now: Duration,
        change: impl FnOnce(&mut Spot) -> T,
    ) -> T {
        let index = usize::try_from(key % SHARDS as u64).unwrap_or_default();
        let mut shard = lock(&self.shards[index]);
        let is_kept = |spot: &Spot| self.keeps_counts && spot.count.max(spot.running) > 0;
        if shard.len() >= CALLERS_PER_SHARD && !shard.contains_key(&key) {
            shard.retain(|_, spot| is_kept(spot) || spot.until > now);
            if shard.len() >= CALLERS_PER_SHARD {
                // So many callers at once are one attacker with many addresses, or the limits of one caller say little:
                // those of the whole program hold.
                shard.retain(|_, spot| is_kept(spot));
            }
        }
        let spot = shard.entry(key).or_default();
        let result = change(spot);
        if !is_kept(spot) && spot.until <= now {
            shard.remove(&key);
        }
        result
    }

    /// How many callers are known.
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
