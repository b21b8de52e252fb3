//! The issuer's private RSA keys.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPair, PublicKeyComponents},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use rsa::{RsaPrivateKey, pkcs8::EncodePrivateKey as _, rand_core::OsRng};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Algorithm, Jwk, jws};

/// The size of new keys in bits: the same as in the SDKs' own issuer, and the least that verifiers accept.
const BITS: usize = 2048;

/// A private RSA key with its published id.
pub(super) struct SigningKey {
    pair: KeyPair,
    pkcs8: Vec<u8>,
    public: Jwk,
}

/// The reason why a key cannot be created or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key could not be created.
    #[error("a key could not be created: {0}")]
    Making(String),
    /// The stored key is invalid.
    #[error("expected an RSA key of at least 2048 bits as PKCS #8: {0}")]
    Rejected(String),
    /// The system has no randomness.
    #[error("signing failed")]
    Signing,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.id())
    }
}

impl SigningKey {
    /// Creates a key. This takes a good part of a second, so it belongs on a blocking thread.
    pub(super) fn make() -> Result<Self, KeyError> {
        let making = |error: &dyn std::fmt::Display| KeyError::Making(error.to_string());
        let key = RsaPrivateKey::new(&mut OsRng, BITS).map_err(|error| making(&error))?;
        let pkcs8 = key.to_pkcs8_der().map_err(|error| making(&error))?;
        Self::from_pkcs8(pkcs8.as_bytes().to_vec())
    }

    /// Reads a stored key.
    pub(super) fn from_pkcs8(pkcs8: Vec<u8>) -> Result<Self, KeyError> {
        let pair =
            KeyPair::from_pkcs8(&pkcs8).map_err(|error| KeyError::Rejected(error.to_string()))?;
        let public = public(&pair);
        Ok(Self { pair, pkcs8, public })
    }

    pub(super) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// Returns the published id.
    pub(super) fn id(&self) -> &str {
        self.public.kid.as_deref().unwrap_or_default()
    }

    pub(super) fn public(&self) -> &Jwk {
        &self.public
    }

    /// Signs a token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = jws::header(Algorithm::Rs256, self.id());
        jws::compose(&header, claims, |message| {
            let mut signature = vec![0; self.pair.public().modulus_len()];
            let random = SystemRandom::new();
            let signed = self.pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
            signed.map(|()| signature).map_err(|_| KeyError::Signing)
        })
    }
}

fn public(pair: &KeyPair) -> Jwk {
    let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public_key().into();
    let (n, e) = (URL_SAFE_NO_PAD.encode(n), URL_SAFE_NO_PAD.encode(e));
    // The id is the thumbprint (RFC 7638), so that it depends only on the key.
    let print = Sha256::digest(format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#));
    Jwk {
        kty: "RSA".into(),
        kid: Some(URL_SAFE_NO_PAD.encode(print)),
        key_use: Some("sig".into()),
        alg: Some(Algorithm::Rs256.name().into()),
        n: Some(n),
        e: Some(e),
        ..Jwk::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verify as _, jws::Jws, testing};
    use serde_json::json;

    #[test]
    fn a_kept_key_is_the_same_key() {
        let key = testing::key(0);
        let again = SigningKey::from_pkcs8(key.pkcs8().to_vec()).unwrap();
        assert_eq!(again.public(), key.public());
        let token = again.sign(&json!({"sub": "x"})).unwrap();
        let jws = Jws::parse(&token).unwrap();
        assert!(key.public().verifies(Algorithm::Rs256, jws.message, &jws.signature));
        assert!(!key.public().verifies(Algorithm::Rs384, jws.message, &jws.signature));
        assert!(!testing::key(1).public().verifies(Algorithm::Rs256, jws.message, &jws.signature));
        assert!(!format!("{key:?}").contains("pkcs8"));
    }

    #[test]
    fn an_invalid_key_is_rejected() {
        let error = SigningKey::from_pkcs8(vec![1, 2, 3]).unwrap_err();
        assert!(error.to_string().starts_with("expected an RSA key of at least 2048 bits"));
    }
}
