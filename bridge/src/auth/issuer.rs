//! The bridge's own issuer: tokens that say "this is the channel", for bots that are told to trust it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{
    Algorithm, Jwks, KeyError, KeyFileError, PrivateKey, Secret, key_file,
    keyring::{Kept, Keyring, age},
    publish,
    signing::SigningKey,
};

/// How many tokens are kept at once.
const CACHE: usize = 1024;

/// How the issuer works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The issuer's name, which is also where its metadata is found: a URL without a slash at its end.
    pub url: String,
    /// The file of its private keys; without it they are forgotten at the end.
    pub keys: Option<PathBuf>,
    /// How long a key signs, at least two days.
    pub rotate_every: Duration,
    /// How long a token is valid.
    pub lifetime: Duration,
}

impl IssuerSettings {
    /// Tokens of ten minutes, keys of thirty days, in memory.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into().trim_end_matches('/').to_owned(),
            keys: None,
            rotate_every: Duration::from_secs(30 * 24 * 60 * 60),
            lifetime: Duration::from_secs(10 * 60),
        }
    }
}

/// What a token is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// For whom it is (`aud`), such as a bot's app id.
    pub audience: String,
    /// Of whom it speaks (`sub`), if of anybody but the issuer.
    pub subject: Option<String>,
    /// Where the bot is to answer (`serviceurl`); bots compare it with the activity's.
    pub service_url: Option<String>,
}

/// Makes tokens, and the keys that sign them. See [`router`](super::router) for what it publishes.
pub struct Issuer {
    settings: IssuerSettings,
    ring: RwLock<Keyring>,
    /// Signs in the ring's place what is not for bots.
    own: Option<PrivateKey>,
    rotating: tokio::sync::Mutex<()>,
    made: Mutex<BTreeMap<Subject, (Timestamp, Secret)>>,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Issuer({})", self.settings.url)
    }
}

impl Issuer {
    /// Reads the issuer's keys, and makes the first one if there is none.
    ///
    /// # Errors
    /// If the file of its keys cannot be read or written, or is not private.
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

    /// With a key of another kind, published beside the others, that signs whatever [`sign`](Self::sign) is asked
    /// for. Tokens for bots stay as they are: their SDKs take nothing but RSA.
    #[must_use]
    pub fn with_key(mut self, key: PrivateKey) -> Self {
        self.own = Some(key);
        self
    }

    /// A token about this: one made before while enough of its time is left, else a new one.
    ///
    /// # Errors
    /// If nothing can be signed.
    pub async fn token(&self, subject: &Subject, now: Timestamp) -> Result<Secret, KeyError> {
        if let Some(token) = self.made_before(subject, now) {
            return Ok(token);
        }
        let token = self.signed(&self.claims(subject, now), now).await?;
        self.keep(subject, now, &token);
        Ok(token)
    }

    /// A token that says this, beside who made it, when, and until when (`iss`, `iat`, `exp`): a new one each
    /// time. What is no object says nothing more.
    ///
    /// # Errors
    /// If nothing can be signed.
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
        Ok(Secret::new(key.sign(claims)?))
    }

    /// The OpenID provider metadata (OpenID Connect Discovery 1.0, section 3).
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

    /// The public keys: those that signed tokens which are valid still, those that will sign, and the
    /// operator's own.
    pub fn jwks(&self, now: Timestamp) -> Jwks {
        let mut all = self.ring().published(now, self.settings.lifetime);
        all.keys
            .extend(self.own.iter().map(|key| key.public().clone()));
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

    /// Who made a token, when, and until when it is valid.
    fn times(&self, now: Timestamp) -> Value {
        let lifetime = i64::try_from(self.settings.lifetime.as_secs()).unwrap_or(i64::MAX);
        let now = now.as_second();
        json!({"iss": self.settings.url, "iat": now, "exp": now.saturating_add(lifetime)})
    }

    /// A kept token of which a quarter of its time is left: who gets it may need a moment to use it.
    fn made_before(&self, subject: &Subject, now: Timestamp) -> Option<Secret> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, token) = made.get(subject)?;
        let is_fresh = *at <= now && age(*at, now) < self.settings.lifetime / 4 * 3;
        is_fresh.then(|| token.clone())
    }

    fn keep(&self, subject: &Subject, now: Timestamp, token: &Secret) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= CACHE {
            made.retain(|_, (at, _)| age(*at, now) < self.settings.lifetime);
        }
        if made.len() < CACHE {
            made.insert(subject.clone(), (now, token.clone()));
        }
    }

    /// Makes the next key when it is time. If that fails, the old one goes on.
    async fn rotate_if_due(&self, now: Timestamp) {
        let due = || self.ring().is_due(now, self.settings.rotate_every);
        if !due() {
            return;
        }
        let Ok(_alone) = self.rotating.try_lock() else {
            return;
        };
        if due()
            && let Err(error) = self.rotate(now).await
        {
            tracing::error!(%error, "the issuer's next key could not be made");
        }
    }

    async fn rotate(&self, now: Timestamp) -> Result<(), KeyFileError> {
        let making = spawn_blocking(SigningKey::make).await;
        let key = making.map_err(|error| KeyError::Making(error.to_string()))??;
        let key = Arc::new(key);
        let ring = self
            .ring()
            .with(Kept { key, made: now }, self.settings.lifetime);
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
