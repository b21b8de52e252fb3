//! The issuer's keys and their succession.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{Jwks, signing::SigningKey};

/// How long a new key is published before it signs. Verifiers keep what they read; those of the known
/// SDKs look for a key that is new to them once an hour at most.
const LEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a key stays published after its last token expired, for verifiers whose clock is behind.
const LINGER: Duration = Duration::from_secs(10 * 60);

/// A key and since when it is there.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) key: Arc<SigningKey>,
    pub(super) made: Timestamp,
}

/// Keys, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyring(Vec<Kept>);

impl Keyring {
    pub(super) fn new(mut keys: Vec<Kept>) -> Self {
        keys.sort_by_key(|kept| kept.made);
        Self(keys)
    }

    pub(super) fn keys(&self) -> &[Kept] {
        &self.0
    }

    /// The key to sign with: the newest that verifiers have had time to learn of. The first of all keys
    /// need not wait, for nobody has read anything yet.
    pub(super) fn signing(&self, now: Timestamp) -> Option<&Arc<SigningKey>> {
        let ripe = |kept: &&Kept| age(kept.made, now) >= LEAD;
        let newest = self.0.iter().rfind(ripe).or(self.0.first());
        newest.map(|kept| &kept.key)
    }

    /// What verifiers may read: keys to come, the one that signs, and those of which tokens may be about
    /// that live this long.
    pub(super) fn published(&self, now: Timestamp, lifetime: Duration) -> Jwks {
        let live = self.live(now, lifetime);
        Jwks {
            keys: live.map(|kept| kept.key.public().clone()).collect(),
        }
    }

    /// Whether it is time to make the key that will sign when the newest one has done so for this long.
    pub(super) fn is_due(&self, now: Timestamp, every: Duration) -> bool {
        let newest = self.0.last();
        newest.is_none_or(|kept| age(kept.made, now) + LEAD >= every.max(2 * LEAD))
    }

    /// The ring with another key, and without those that are done.
    pub(super) fn with(&self, kept: Kept, lifetime: Duration) -> Self {
        let now = kept.made;
        Self::new(self.live(now, lifetime).cloned().chain([kept]).collect())
    }

    fn live(&self, now: Timestamp, lifetime: Duration) -> impl Iterator<Item = &Kept> {
        let is_done = move |successor: &Kept| age(successor.made, now) > LEAD + lifetime + LINGER;
        let successors = self.0.iter().skip(1).map(Some).chain([None]);
        let pairs = self.0.iter().zip(successors);
        pairs.filter_map(move |(kept, next)| (!next.is_some_and(is_done)).then_some(kept))
    }
}

/// How old something is; a moment in the future has no age.
pub(super) fn age(made: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(made)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::testing;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    fn kept(number: usize, made: Timestamp) -> Kept {
        let key = testing::key(number);
        Kept { key, made }
    }

    fn is(key: Option<&Arc<SigningKey>>, number: usize) -> bool {
        key.map(|key| key.id()) == Some(testing::key(number).id())
    }

    #[test]
    fn a_key_is_published_before_it_signs_and_after_it_signed() {
        let start = Timestamp::UNIX_EPOCH;
        let ring = Keyring::default().with(kept(0, start), HOUR);
        assert!(is(ring.signing(start), 0), "the first key need not wait");
        assert!(!ring.is_due(start + 28 * 24 * HOUR, MONTH));
        let second = start + 29 * 24 * HOUR;
        assert!(ring.is_due(second, MONTH));
        let ring = ring.with(kept(1, second), HOUR);
        assert!(!ring.is_due(second, MONTH));
        assert!(is(ring.signing(second + 23 * HOUR), 0));
        assert_eq!(ring.published(second, HOUR).keys.len(), 2);
        assert!(is(ring.signing(second + 24 * HOUR), 1));
        assert_eq!(ring.published(second + 25 * HOUR, HOUR).keys.len(), 2);
        let later = second + 26 * HOUR;
        assert_eq!(
            ring.published(later, HOUR).keys,
            [testing::key(1).public().clone()]
        );
        assert_eq!(ring.with(kept(2, later), HOUR).keys().len(), 2);
    }

    #[test]
    fn an_empty_ring_wants_a_key_and_signs_nothing() {
        let ring = Keyring::default();
        assert!(ring.is_due(Timestamp::UNIX_EPOCH, MONTH));
        assert!(ring.signing(Timestamp::UNIX_EPOCH).is_none());
    }

    #[test]
    fn a_clock_that_was_set_back_does_no_harm() {
        let made = Timestamp::UNIX_EPOCH + MONTH;
        let ring = Keyring::default().with(kept(0, made), HOUR);
        assert!(!ring.is_due(Timestamp::UNIX_EPOCH, MONTH));
        assert!(is(ring.signing(Timestamp::UNIX_EPOCH), 0));
    }
}
