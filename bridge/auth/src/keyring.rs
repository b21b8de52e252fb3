//! The issuer's keys and their rotation.

use std::{fmt::Display, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use rsa::{RsaPrivateKey, pkcs8::EncodePrivateKey as _, rand_core::OsRng};

use super::{Jwks, KeyError, PrivateKey, Secret};

/// The size of new keys in bits: the same as in the SDKs' own issuer, and the least that verifiers accept.
const BITS: usize = 2048;

/// The time for which a new key is published before it signs. Verifiers cache keys; those of the known SDKs
/// look for new keys at most once an hour.
const LEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// The time for which a key stays published after its last token expired, for verifiers whose clock is slow.
const LINGER: Duration = Duration::from_secs(10 * 60);

/// A key with the time of its creation.
#[derive(Clone, Debug)]
pub(super) struct StoredKey {
    pub(super) key: Arc<PrivateKey>,
    /// The key as PKCS #8 in base64.
    pub(super) private: Secret,
    pub(super) made: Timestamp,
}

impl StoredKey {
    /// Creates a key. This takes a good part of a second, so it belongs on a blocking thread.
    pub(super) fn make(now: Timestamp) -> Result<Self, KeyError> {
        let making = |error: &dyn Display| KeyError::Making(error.to_string());
        let key = RsaPrivateKey::new(&mut OsRng, BITS).map_err(|error| making(&error))?;
        let pkcs8 = key.to_pkcs8_der().map_err(|error| making(&error))?;
        Self::of(pkcs8.as_bytes(), now)
    }

    /// Reads a key as PKCS #8.
    pub(super) fn of(pkcs8: &[u8], made: Timestamp) -> Result<Self, KeyError> {
        let key = Arc::new(PrivateKey::rsa(pkcs8)?);
        Ok(Self { key, private: Secret::new(STANDARD.encode(pkcs8)), made })
    }
}

/// The keys, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyring(Vec<StoredKey>);

impl Keyring {
    pub(super) fn new(mut keys: Vec<StoredKey>) -> Self {
        keys.sort_by_key(|kept| kept.made);
        Self(keys)
    }

    pub(super) fn keys(&self) -> &[StoredKey] {
        &self.0
    }

    /// Returns the key to sign with: the newest one that verifiers could have fetched. The very first key is used at
    /// once.
    pub(super) fn signing(&self, now: Timestamp) -> Option<&Arc<PrivateKey>> {
        let ripe = |kept: &&StoredKey| age(kept.made, now) >= LEAD;
        let newest = self.0.iter().rfind(ripe).or(self.0.first());
        newest.map(|kept| &kept.key)
    }

    /// Returns the published keys: future ones, the current one, and those whose tokens of this lifetime may still be
    /// valid.
    pub(super) fn published(&self, now: Timestamp, lifetime: Duration) -> Jwks {
        let live = self.live(now, lifetime);
        Jwks { keys: live.map(|kept| kept.key.public().clone()).collect() }
    }

    /// Returns whether it is time to create the next key.
    pub(super) fn is_due(&self, now: Timestamp, every: Duration) -> bool {
        // A key from the time of a clock that was ahead is not waited for.
        let newest = self.0.iter().rfind(|kept| kept.made <= now).or(self.0.last());
        newest.is_none_or(|kept| age(kept.made, now) + LEAD >= every.max(2 * LEAD))
    }

    /// Returns the ring with another key, and without expired ones.
    pub(super) fn with(&self, kept: StoredKey, lifetime: Duration) -> Self {
        let now = kept.made;
        Self::new(self.live(now, lifetime).cloned().chain([kept]).collect())
    }

    fn live(&self, now: Timestamp, lifetime: Duration) -> impl Iterator<Item = &StoredKey> {
        let is_done =
            move |successor: &StoredKey| age(successor.made, now) > LEAD + lifetime + LINGER;
        let successors = self.0.iter().skip(1).map(Some).chain([None]);
        let pairs = self.0.iter().zip(successors);
        pairs.filter_map(move |(kept, next)| (!next.is_some_and(is_done)).then_some(kept))
    }
}

/// Returns the age of something; zero for times in the future.
pub(super) fn age(made: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(made)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    fn kept(number: usize, made: Timestamp) -> StoredKey {
        testing::stored_key(number, made)
    }

    fn is(key: Option<&Arc<PrivateKey>>, number: usize) -> bool {
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
        assert_eq!(ring.published(later, HOUR).keys, [testing::key(1).public().clone()]);
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

    #[test]
    fn keys_are_made_after_a_clock_was_ahead() {
        let start = Timestamp::UNIX_EPOCH;
        let ahead = kept(1, start + 500 * MONTH);
        let ring = Keyring::default().with(kept(0, start), HOUR).with(ahead, HOUR);
        assert!(!ring.is_due(start + HOUR, MONTH));
        let second = start + MONTH;
        assert!(ring.is_due(second, MONTH));
        let ring = ring.with(kept(2, second), HOUR);
        assert!(!ring.is_due(second, MONTH) && is(ring.signing(second + 24 * HOUR), 2));
        assert!(ring.is_due(second + MONTH, MONTH));
    }
}
