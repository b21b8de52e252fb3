//! The public keys of an issuer, fetched and cached.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};
use url::Url;

use super::{
    FetchError, Jwks, Refusal,
    fetch::{Fetcher, unexpected},
    keyring::age,
};

/// The time after which keys are fetched again, so that withdrawn keys are dropped.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// The time for which old keys are used if newer ones cannot be fetched.
const STALE: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The interval at which keys are fetched for tokens that none of the known ones signed, since anyone can send
/// such tokens.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause after a failed fetch if there are no keys at all.
const PAUSE: Duration = Duration::from_secs(5);

/// The location of an issuer's keys, and the keys read there.
#[derive(Debug)]
pub struct KeySource {
    place: KeyLocation,
    fetcher: Fetcher,
    known: RwLock<Option<CachedKeys>>,
    /// Held by the task that fetches.
    flight: Mutex<Option<Attempt>>,
}

#[derive(Debug)]
enum KeyLocation {
    Metadata(Url),
    Keys(Url),
    File(PathBuf),
}

#[derive(Clone, Debug)]
struct CachedKeys {
    keys: Arc<Jwks>,
    read: Timestamp,
}

#[derive(Debug)]
struct Attempt {
    at: Timestamp,
    /// Whole seconds. Those who came meanwhile share the result, and the pause begins at the end.
    took: Duration,
    failed: Option<FetchError>,
}

impl KeySource {
    /// Reads keys from the address in the issuer's OpenID metadata. Plain http beyond loopback is only used
    /// if `plain_http` is set, for keys and metadata.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be created.
    pub fn metadata(url: Url, plain_http: bool) -> Result<Self, FetchError> {
        Self::at(KeyLocation::Metadata(url), plain_http)
    }

    /// Reads keys from this address.
    ///
    /// # Errors
    /// The errors of [`metadata`](Self::metadata).
    pub fn keys(url: Url, plain_http: bool) -> Result<Self, FetchError> {
        Self::at(KeyLocation::Keys(url), plain_http)
    }

    /// Reads keys from this file, a set as JSON (RFC 7517, section 5). It is read again at the same
    /// intervals, so keys can be added at any time.
    ///
    /// # Errors
    /// The errors of [`metadata`](Self::metadata).
    pub fn file(path: impl Into<PathBuf>) -> Result<Self, FetchError> {
        Self::at(KeyLocation::File(path.into()), false)
    }

    fn at(place: KeyLocation, plain_http: bool) -> Result<Self, FetchError> {
        Ok(Self {
            place,
            fetcher: Fetcher::new(plain_http)?,
            known: RwLock::default(),
            flight: Mutex::default(),
        })
    }

    /// Calls `judge` with the issuer's keys. They are fetched again if the known ones are not accepted: a key can be new, or
    /// replace another one with the same id.
    pub(super) async fn judged(
        &self,
        issuer: &str,
        now: Timestamp,
        judge: impl Fn(&Jwks) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let satisfies = || {
            let fresh = self.known(FRESH, now);
            fresh.is_some_and(|keys| judge(&keys).is_ok())
        };
        if satisfies() {
            return Ok(());
        }
        let flight = self.flight.lock().await;
        if satisfies() {
            return Ok(());
        }
        judge(&*self.fetch(flight, issuer, now).await.map_err(Refusal::Keys)?)
    }

    async fn fetch(
        &self,
        mut flight: MutexGuard<'_, Option<Attempt>>,
        issuer: &str,
        now: Timestamp,
    ) -> Result<Arc<Jwks>, FetchError> {
        let old = self.known(STALE, now);
        let wait = if old.is_some() { PATIENCE } else { PAUSE };
        if let Some(attempt) = &*flight
            && attempt.at <= now
            && age(attempt.at, now) < attempt.took + wait
        {
            return old.ok_or_else(|| attempt.failed.clone().unwrap_or_else(|| self.none()));
        }
        let began = Instant::now();
        let fetched = self.read(issuer).await.map(Arc::new);
        *flight = Some(Attempt {
            at: now,
            took: Duration::from_secs(began.elapsed().as_secs()),
            failed: fetched.as_ref().err().cloned(),
        });
        match fetched {
            Ok(keys) => {
                let known = CachedKeys { keys: keys.clone(), read: now };
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
                Ok(keys)
            }
            Err(error) => {
                tracing::warn!(issuer, %error, "the keys of an issuer cannot be read");
                old.ok_or(error)
            }
        }
    }

    async fn read(&self, issuer: &str) -> Result<Jwks, FetchError> {
        let url = match &self.place {
            KeyLocation::Keys(url) => url.clone(),
            KeyLocation::Metadata(url) => self.place_of_keys(url, issuer).await?,
            KeyLocation::File(path) => return read_file(path).await,
        };
        let document = self.fetcher.get(&url).await?;
        Jwks::read(document).ok_or_else(|| unexpected(&url, "a set of keys"))
    }

    async fn place_of_keys(&self, url: &Url, issuer: &str) -> Result<Url, FetchError> {
        let metadata = self.fetcher.get(url).await?;
        let member = |name: &str| metadata.get(name).and_then(Value::as_str);
        let named = member("issuer").unwrap_or_default();
        if !is_same_issuer(named, issuer) {
            let expected = format!("the metadata of {issuer}: its issuer is {named:.200}");
            return Err(unexpected(url, expected));
        }
        let keys = member("jwks_uri").and_then(|text| text.parse().ok());
        keys.ok_or_else(|| unexpected(url, "metadata with a jwks_uri"))
    }

    fn none(&self) -> FetchError {
        let expected = "keys that have not expired";
        match &self.place {
            KeyLocation::Metadata(url) | KeyLocation::Keys(url) => unexpected(url, expected),
            KeyLocation::File(path) => unexpected_file(path, expected),
        }
    }

    fn known(&self, limit: Duration, now: Timestamp) -> Option<Arc<Jwks>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // Keys that were read when the clock was ahead are as doubtful as old ones.
        let is_recent = |known: &&CachedKeys| now.duration_since(known.read).unsigned_abs() < limit;
        let known = known.as_ref().filter(is_recent);
        known.map(|known| known.keys.clone())
    }
}

/// Whether two names are the same issuer. Both have the same metadata if only a slash at the end differs
/// (OpenID Connect Discovery 1.0, section 4.1), so the operator need not know whether there is one.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    fn bare(name: &str) -> &str {
        name.strip_suffix('/').unwrap_or(name)
    }
    bare(one) == bare(other)
}

async fn read_file(path: &Path) -> Result<Jwks, FetchError> {
    let text = tokio::fs::read(path).await;
    let text = text.map_err(|error| FetchError::Unreachable {
        endpoint: path.display().to_string(),
        reason: error.to_string(),
    })?;
    let document = serde_json::from_slice(&text).ok();
    document.and_then(Jwks::read).ok_or_else(|| unexpected_file(path, "a set of keys"))
}

fn unexpected_file(path: &Path, expected: &str) -> FetchError {
    FetchError::Unexpected { endpoint: path.display().to_string(), expected: expected.to_owned() }
}
