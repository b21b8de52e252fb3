//! Encrypts stored settings, which hold tokens, credentials, and URLs that are secrets themselves. The store is a log,
//! so removed settings remain in it; they stay encrypted too.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::auth::Secret;

/// The length of a key, in bytes.
const KEY: usize = 32;

/// The keys with which settings are encrypted (AES-256-GCM). The first key encrypts and all of them decrypt, so that
/// keys can be rotated. Without any key settings are stored as plain text.
#[derive(Clone, Default)]
pub struct Seal(Vec<Arc<Key>>);

struct Key {
    /// The key's id, a hash that does not reveal the key.
    id: String,
    key: LessSafeKey,
}

/// The reason why a text is not a valid key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected 32 random bytes as base64, as openssl rand -base64 32 writes them, found {found}"
)]
pub struct SealKeyError {
    /// A description of the text that does not contain it.
    found: String,
}

/// An encrypted text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sealed {
    /// The id of the key.
    key: String,
    /// The nonce, the encrypted text and its tag, as base64.
    sealed: String,
}

/// The reason why a text cannot be encrypted or decrypted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SealError {
    #[error("it is encrypted with the key {0}, which is not configured: add it to push.seal")]
    UnknownKey(String),
    #[error("it was not encrypted with the key {0} for this setting")]
    Changed(String),
    #[error("the system provides no random numbers for the encryption")]
    Random,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

impl PartialEq for Seal {
    fn eq(&self, other: &Self) -> bool {
        self.ids().eq(other.ids())
    }
}

impl Eq for Seal {}

impl Seal {
    /// Adds a key, 32 random bytes as base64, behind the existing keys.
    ///
    /// # Errors
    /// If the text is not such a key.
    pub fn add(&mut self, key: &Secret) -> Result<(), SealKeyError> {
        let wrong = |found: &str| SealKeyError { found: found.to_owned() };
        let bytes = STANDARD.decode(key.expose());
        let bytes = bytes.map_err(|_| wrong("something else"))?;
        if bytes.len() != KEY {
            return Err(wrong(&format!("{} bytes", bytes.len())));
        }
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| wrong("something else"))?;
        self.0.push(Arc::new(Key {
            id: format!("{:x}", Sha256::digest(&bytes))[..16].to_owned(),
            key: LessSafeKey::new(key),
        }));
        Ok(())
    }

    /// Encrypts a text, which can only be decrypted for the same place; returns `None` without a key.
    pub(super) fn close(
        &self,
        mut text: Vec<u8>,
        place: &[u8],
    ) -> Result<Option<Sealed>, SealError> {
        let Some(Key { id, key }) = self.0.first().map(AsRef::as_ref) else {
            return Ok(None);
        };
        let mut nonce = [0; NONCE_LEN];
        let drawn = SystemRandom::new().fill(&mut nonce);
        drawn.map_err(|_| SealError::Random)?;
        let fresh = Nonce::assume_unique_for_key(nonce);
        let closed = key.seal_in_place_append_tag(fresh, Aad::from(place), &mut text);
        closed.map_err(|_| SealError::Random)?;
        Ok(Some(Sealed { key: id.clone(), sealed: STANDARD.encode([&nonce[..], &text].concat()) }))
    }

    /// Decrypts a text that was encrypted for this place.
    pub(super) fn open(&self, sealed: &Sealed, place: &[u8]) -> Result<Vec<u8>, SealError> {
        let known = self.0.iter().find(|key| key.id == sealed.key);
        let known = known.ok_or_else(|| SealError::UnknownKey(sealed.key.clone()))?;
        let changed = || SealError::Changed(sealed.key.clone());
        let bytes = STANDARD.decode(&sealed.sealed).map_err(|_| changed())?;
        let (nonce, text) = bytes.split_first_chunk().ok_or_else(changed)?;
        let (nonce, mut text) = (Nonce::assume_unique_for_key(*nonce), text.to_vec());
        let opened = known.key.open_in_place(nonce, Aad::from(place), &mut text);
        Ok(opened.map_err(|_| changed())?.to_vec())
    }

    /// Returns whether a stored text is up to date: encrypted with the first key, or plain if there is no key.
    pub(super) fn is_current(&self, stored: Option<&Sealed>) -> bool {
        self.ids().next() == stored.map(|sealed| sealed.key.as_str())
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| key.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(keys: &[u8]) -> Seal {
        let mut seal = Seal::default();
        for key in keys {
            let key = Secret::new(STANDARD.encode([*key; KEY]));
            seal.add(&key).unwrap();
        }
        seal
    }

    #[test]
    fn a_text_is_decrypted_only_with_its_key_and_place() {
        let sealed = seal(&[1]).close(b"hunter2".to_vec(), b"a").unwrap().unwrap();
        assert_eq!(seal(&[2, 1]).open(&sealed, b"a").unwrap(), b"hunter2");
        assert!(!serde_json::to_string(&sealed).unwrap().contains("hunter2"));
        let changed = SealError::Changed(sealed.key.clone());
        assert_eq!(seal(&[1]).open(&sealed, b"b").unwrap_err(), changed);
        let unknown = SealError::UnknownKey(sealed.key.clone());
        assert_eq!(seal(&[2]).open(&sealed, b"a").unwrap_err(), unknown);
        for text in ["", "?", "AAAA", &STANDARD.encode([0; 40])] {
            let other = Sealed { sealed: text.to_owned(), ..sealed.clone() };
            assert_eq!(seal(&[1]).open(&other, b"a").unwrap_err(), changed, "{text}");
        }
        let again = seal(&[1]).close(b"hunter2".to_vec(), b"a").unwrap().unwrap();
        assert_ne!(again, sealed, "each has a nonce of its own");
    }

    #[test]
    fn the_first_key_encrypts_and_without_keys_nothing_is_encrypted() {
        let old = seal(&[1]).close(Vec::new(), b"a").unwrap();
        for (keys, stored, expected) in [
            (&[1][..], &old, true),
            (&[1, 2], &old, true),
            (&[2, 1], &old, false),
            (&[], &old, false),
            (&[], &None, true),
            (&[1], &None, false),
        ] {
            assert_eq!(seal(keys).is_current(stored.as_ref()), expected, "{keys:?}");
        }
        assert_eq!(seal(&[]).close(Vec::new(), b"a"), Ok(None));
    }

    #[test]
    fn an_invalid_key_is_not_repeated_in_the_error() {
        for (text, found) in [
            ("", "found 0 bytes"),
            ("hunter2!", "found something else"),
            ("aHVudGVyMg==", "found 7 bytes"),
        ] {
            let error = Seal::default().add(&Secret::new(text)).unwrap_err();
            assert!(error.to_string().ends_with(found), "{error}");
        }
        let shown = format!("{:?}", seal(&[1, 2]));
        assert!(!shown.contains("AQEB") && shown.len() == 40, "{shown}");
    }
}
