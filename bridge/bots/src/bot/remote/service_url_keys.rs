//! The keys that encrypt service URLs (AES-256-GCM). The first one is created when a store is first used for a bot.
//! They are kept in the store, so that all its users can decrypt the same URLs.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use serde::{Deserialize, Serialize};

use super::service_url::{ServiceUrlScope, records_owner};
use crate::{
    clock,
    store::{Conversation, RecordKey, Result, Store, StoreError, decoded, encoded},
};

/// The record kind of the keys.
const KEYS_KIND: &str = "bot-address-keys";

/// The keys. The first one encrypts; all of them decrypt.
pub(super) struct ServiceUrlKeys(Vec<Key>);

struct Key {
    seal: LessSafeKey,
    nonce: hmac::Key,
}

/// The stored form: the secrets from which the keys are derived.
#[derive(Default, Serialize, Deserialize)]
struct StoredKeys {
    secrets: Vec<String>,
}

impl std::fmt::Debug for ServiceUrlKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

impl ServiceUrlKeys {
    /// Reads the keys of a store, and creates the first one if there is none yet.
    pub(super) async fn of(store: &dyn Store) -> Result<Self> {
        let stored = match store.leases() {
            // Of several processes on one store, one creates the first key.
            Some(leases) if StoredKeys::read(store).await?.secrets.is_empty() => {
                let caller = records_owner();
                let lease = Conversation { agent: KEYS_KIND, caller: &caller, id: "" };
                leases.run_with_lease(lease, StoredKeys::at_least_one(store)).await?
            }
            Some(_) | None => StoredKeys::at_least_one(store).await?,
        };
        Ok(Self(stored.secrets.iter().filter_map(|secret| Key::of(secret)).collect()))
    }

    /// Encrypts a scope as the unguessable part of a URL. The result is always the same.
    pub(super) fn seal(&self, scope: &ServiceUrlScope) -> Result<String> {
        let text = encoded(scope);
        let sealed = self.0.first().and_then(|key| key.seal(text));
        let sealed = sealed.map(|sealed| URL_SAFE_NO_PAD.encode(sealed));
        sealed.ok_or_else(|| StoreError::corrupt("the keys of service URLs", "they cannot be used"))
    }

    /// Decrypts a secret that was encrypted with one of the keys.
    pub(super) fn open(&self, secret: &str) -> Option<ServiceUrlScope> {
        let sealed = URL_SAFE_NO_PAD.decode(secret).ok()?;
        let text = self.0.iter().find_map(|key| key.open(&sealed))?;
        serde_json::from_slice(&text).ok()
    }
}

/// Creates a new key, which encrypts service URLs from the next start on. The former keys still decrypt, unless
/// `revokes_old` is set: then all existing service URLs become invalid.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn rotate_service_url_keys(store: &dyn Store, revokes_old: bool) -> Result<()> {
    let stored = if revokes_old { StoredKeys::default() } else { StoredKeys::read(store).await? };
    stored.with_new(store).await.map(drop)
}

impl StoredKeys {
    /// Reads the keys, and creates the first one if there is none.
    async fn at_least_one(store: &dyn Store) -> Result<Self> {
        let stored = Self::read(store).await?;
        if stored.secrets.is_empty() { stored.with_new(store).await } else { Ok(stored) }
    }

    async fn read(store: &dyn Store) -> Result<Self> {
        let record = store.record(&records_owner(), &key()).await?;
        record.map_or_else(|| Ok(Self::default()), |record| decoded(&key(), &record))
    }

    /// Adds a new secret in front of the others and stores them.
    async fn with_new(mut self, store: &dyn Store) -> Result<Self> {
        self.secrets.insert(0, clock::new_secret());
        store.put_record(&records_owner(), &key(), encoded(&self)).await?;
        Ok(self)
    }
}

fn key() -> RecordKey {
    RecordKey::new(KEYS_KIND, "", "")
}

impl Key {
    fn of(secret: &str) -> Option<Self> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let derived = |name: &str| hmac::sign(&secret, name.as_bytes());
        let seal = UnboundKey::new(&AES_256_GCM, derived("seal").as_ref()).ok()?;
        Some(Self {
            seal: LessSafeKey::new(seal),
            nonce: hmac::Key::new(hmac::HMAC_SHA256, derived("nonce").as_ref()),
        })
    }

    /// Encrypts a text. The nonce is derived from the text: different texts never share one, and the same text always
    /// has the same result.
    fn seal(&self, mut text: Vec<u8>) -> Option<Vec<u8>> {
        let tag = hmac::sign(&self.nonce, &text);
        let nonce: [u8; NONCE_LEN] = tag.as_ref()[..NONCE_LEN].try_into().ok()?;
        let unique = Nonce::assume_unique_for_key(nonce);
        self.seal.seal_in_place_append_tag(unique, Aad::empty(), &mut text).ok()?;
        Some([&nonce[..], &text].concat())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.seal.open_in_place(nonce, Aad::empty(), &mut text).ok()?;
        Some(opened.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{caller::Caller, store::MemoryStore};

    fn scope() -> ServiceUrlScope {
        ServiceUrlScope { agent: "bot".into(), caller: Caller::new("me"), context: "c".into() }
    }

    #[tokio::test]
    async fn a_changed_secret_opens_nothing() {
        let keys = ServiceUrlKeys::of(&MemoryStore::new()).await.unwrap();
        let secret = keys.seal(&scope()).unwrap();
        assert_eq!(keys.open(&secret), Some(scope()));
        for at in 0..secret.len() {
            let mut changed = secret.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(keys.open(&changed), None, "changed at {at}");
        }
        let others = ServiceUrlKeys::of(&MemoryStore::new()).await.unwrap();
        assert_eq!(others.open(&secret), None);
    }

    #[tokio::test]
    async fn keys_are_turned_and_withdrawn() {
        let store = MemoryStore::new();
        let first = ServiceUrlKeys::of(&store).await.unwrap().seal(&scope()).unwrap();
        rotate_service_url_keys(&store, false).await.unwrap();
        let turned = ServiceUrlKeys::of(&store).await.unwrap();
        let second = turned.seal(&scope()).unwrap();
        assert_ne!(first, second);
        assert_eq!(turned.open(&first), Some(scope()));
        rotate_service_url_keys(&store, true).await.unwrap();
        let withdrawn = ServiceUrlKeys::of(&store).await.unwrap();
        assert_eq!((withdrawn.open(&first), withdrawn.open(&second)), (None, None));
    }
}
