//! The bridge's own issuer of tokens, which identify the bridge to bots that trust it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError, RwLock},
    time::Duration,
};

use bridge_program::lock;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{
    Algorithm, Jwks, KeyError, KeyFileError, PrivateKey, Secret, key_file,
    keyring::{Keyring, StoredKey, age},
    publish,
};

/// The number of cached tokens.
const CACHE: usize = 1024;

/// The pause after a key could not be created or stored. Creating one takes a good part of a second, and the old key still signs.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// The settings of the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The issuer's name and address: a URL without a slash at the end.
    pub url: String,
    /// The file with its private keys; without it they are lost at the end of the process.
    pub keys: Option<PathBuf>,
    /// The time for which a key signs, at least two days.
    pub rotate_every: Duration,
    /// The lifetime of a token.
    pub lifetime: Duration,
}

impl IssuerSettings {
    /// Creates the default settings: tokens of ten minutes, keys of thirty days, kept in memory.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into().trim_end_matches('/').to_owned(),
            keys: None,
            rotate_every: Duration::from_secs(30 * 24 * 60 * 60),
            lifetime: Duration::from_secs(10 * 60),
        }
    }
}

/// The claims that identify a token's receiver and subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The receiver (`aud`), such as a bot's app id.
    pub audience: String,
    /// The subject (`sub`), if it is not the issuer.
    pub subject: Option<String>,
    /// The URL for the bot's answers (`serviceurl`), which bots compare with the activity's.
    pub service_url: Option<String>,
}

/// Issues tokens, and creates the keys for them. See [`router`](super::router) for the published documents.
#[derive(Debug)]
pub struct Issuer {
    settings: IssuerSettings,
    ring: RwLock<Keyring>,
    /// A key of the operator that signs everything except tokens for bots.
    own: Option<PrivateKey>,
    /// Held by the task that creates a key; contains the time of the last failure.
    rotating: tokio::sync::Mutex<Option<Timestamp>>,
    made: Mutex<BTreeMap<Subject, (Timestamp, Secret)>>,
}

impl Issuer {
    /// Reads the issuer's keys, or creates the first one.
    ///
    /// # Errors
    /// Returns an error if the file of keys cannot be read or written, or is not private.
    pub async fn open(settings: IssuerSettings, now: Timestamp) -> Result<Self, KeyFileError> {
        let ring = match &settings.keys {
            Some(path) => key_file::read(path)?,
            None => Keyring::default(),
        };
        let is_new = ring.keys().is_empty();
        let issuer = Self {
            settings,
            ring: RwLock::new(ring),
            own: None,
            rotating: tokio::sync::Mutex::default(),
            made: Mutex::default(),
        };
        if is_new {
            issuer.rotate(now).await?;
        }
        Ok(issuer)
    }

    /// Adds a key of another kind, published with the others, for [`sign`](Self::sign). Tokens for bots are
    /// still signed with RSA, because their SDKs accept nothing else.
    #[must_use]
    pub fn with_key(mut self, key: PrivateKey) -> Self {
        self.own = Some(key);
        self
    }

    /// Returns a token with these claims: a cached one with enough time left, or a new one.
    ///
    /// # Errors
    /// Returns an error if signing fails.
    pub async fn token(&self, subject: &Subject, now: Timestamp) -> Result<Secret, KeyError> {
        if let Some(token) = self.made_before(subject, now) {
            return Ok(token);
        }
        let token = self.signed(&self.claims(subject, now), now).await?;
        self.keep(subject, now, &token);
        Ok(token)
    }

    /// Signs a new token with these claims, and adds issuer and times (`iss`, `iat`, `exp`). A value that is
    /// no object is ignored.
    ///
    /// # Errors
    /// Returns an error if signing fails.
    pub async fn sign(&self, claims: Value, now: Timestamp) -> Result<Secret, KeyError> {
        let mut all = self.times(now);
        if let (Value::Object(all), Value::Object(claims)) = (&mut all, claims) {
            all.extend(claims);
        }
        match &self.own {
            Some(key) => Ok(Secret::new(key.token(&all)?)),
            None => self.signed(&all, now).await,
        }
    }

    async fn signed(&self, claims: &Value, now: Timestamp) -> Result<Secret, KeyError> {
        self.rotate_if_due(now).await;
        let key = self.ring().signing(now).cloned().ok_or(KeyError::Signing)?;
        Ok(Secret::new(key.token(claims)?))
    }

    /// Returns the OpenID provider metadata (OpenID Connect Discovery 1.0, section 3).
    pub fn metadata(&self) -> Value {
        let url = &self.settings.url;
        json!({
            "issuer": url,
            "jwks_uri": format!("{url}{}", publish::KEYS),
            "id_token_signing_alg_values_supported": [Algorithm::Rs256.name()],
            "response_types_supported": ["token"],
            "subject_types_supported": ["public"],
        })
    }

    /// Returns the public keys: those of tokens that may still be valid, those that will sign later, and the operator's
    /// own.
    pub fn jwks(&self, now: Timestamp) -> Jwks {
        let mut all = self.ring().published(now, self.settings.lifetime);
        all.keys.extend(self.own.iter().map(|key| key.public().clone()));
        all
    }

    fn claims(&self, subject: &Subject, now: Timestamp) -> Value {
        let mut claims = self.times(now);
        claims["aud"] = subject.audience.as_str().into();
        claims["nbf"] = now.as_second().into();
        if let Some(subject) = &subject.subject {
            claims["sub"] = subject.as_str().into();
        }
        if let Some(service_url) = &subject.service_url {
            claims["serviceurl"] = service_url.as_str().into();
        }
        claims
    }

    /// Returns the claims with issuer and times of a token.
    fn times(&self, now: Timestamp) -> Value {
        let lifetime = i64::try_from(self.settings.lifetime.as_secs()).unwrap_or(i64::MAX);
        let now = now.as_second();
        json!({"iss": self.settings.url, "iat": now, "exp": now.saturating_add(lifetime)})
    }

    /// Returns a cached token with at least a quarter of its lifetime left, since the receiver may not use it at once.
    fn made_before(&self, subject: &Subject, now: Timestamp) -> Option<Secret> {
        let made = lock(&self.made);
        let (at, token) = made.get(subject)?;
        let is_fresh = *at <= now && age(*at, now) < self.settings.lifetime / 4 * 3;
        is_fresh.then(|| token.clone())
    }

    fn keep(&self, subject: &Subject, now: Timestamp, token: &Secret) {
        let mut made = lock(&self.made);
        if made.len() >= CACHE {
            made.retain(|_, (at, _)| *at <= now && age(*at, now) < self.settings.lifetime);
        }
        if made.len() < CACHE {
            made.insert(subject.clone(), (now, token.clone()));
        }
    }

    /// Creates the next key when it is due. If that fails, the old one stays in use.
    async fn rotate_if_due(&self, now: Timestamp) {
        let due = || self.ring().is_due(now, self.settings.rotate_every);
        if !due() {
            return;
        }
        let Ok(mut failed) = self.rotating.try_lock() else {
            return;
        };
        let is_paused = failed.is_some_and(|at| at <= now && age(at, now) < PAUSE);
        if !is_paused && due() {
            *failed = self.rotate(now).await.err().map(|error| {
                tracing::error!(%error, "the issuer's next key could not be created");
                now
            });
        }
    }

    async fn rotate(&self, now: Timestamp) -> Result<(), KeyFileError> {
        let making = spawn_blocking(move || StoredKey::make(now)).await;
        let key = making.unwrap_or_else(|error| Err(KeyError::Making(error.to_string())));
        let key = key.map_err(KeyFileError::Key)?;
        let ring = self.ring().with(key, self.settings.lifetime);
        if let Some(path) = &self.settings.keys {
            key_file::write(path, &ring)?;
        }
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring;
        tracing::info!(issuer = self.settings.url, "the issuer has a new key");
        Ok(())
    }

    fn ring(&self) -> std::sync::RwLockReadGuard<'_, Keyring> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
