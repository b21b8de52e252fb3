//! Private keys: those of the issuer, and those in files, with which an operator signs agent cards and push notifications.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Algorithm, Jwk, jws, not_private};

/// A private key with its published id: on P-256 or Ed25519, or an RSA key of the issuer.
pub struct PrivateKey {
    pair: Pair,
    public: Jwk,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// The reason why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PrivateKeyError {
    /// The file cannot be read.
    #[error("the private key in {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    /// Other users can read the file.
    #[error(
        "other users can read the private key in {path} (mode {mode:03o}): run chmod 600 {path}"
    )]
    NotPrivate { path: PathBuf, mode: u32 },
    /// The file has no supported key.
    #[error(
        "the private key in {0}: expected a P-256 or Ed25519 key as PKCS #8 in PEM, as openssl genpkey \
         -algorithm ed25519 writes it"
    )]
    NoKey(PathBuf),
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

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PrivateKey({})", self.id())
    }
}

impl PrivateKey {
    /// Reads the key in this file, which is published under this id, or its thumbprint (RFC 7638).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is readable by others, or has no key of a supported kind.
    pub fn read(path: &Path, id: Option<&str>) -> Result<Self, PrivateKeyError> {
        let unreadable = |error| PrivateKeyError::Io { path: path.to_owned(), error };
        let file = File::open(path).map_err(unreadable)?;
        if let Some(mode) = not_private(&file).map_err(unreadable)? {
            return Err(PrivateKeyError::NotPrivate { path: path.to_owned(), mode });
        }
        let text = io::read_to_string(file).map_err(unreadable)?;
        let pair = pem(&text).and_then(|der| Pair::of(&der));
        let pair = pair.ok_or_else(|| PrivateKeyError::NoKey(path.to_owned()))?;
        Ok(Self::of(pair, id))
    }

    /// Reads an RSA key as PKCS #8.
    pub(super) fn rsa(pkcs8: &[u8]) -> Result<Self, KeyError> {
        let pair = RsaKeyPair::from_pkcs8(pkcs8);
        let pair = pair.map_err(|error| KeyError::Rejected(error.to_string()))?;
        Ok(Self::of(Pair::Rsa(pair), None))
    }

    fn of(pair: Pair, id: Option<&str>) -> Self {
        let mut public = pair.public();
        public.kid = Some(id.map_or_else(|| thumbprint(&public), str::to_owned));
        Self { pair, public }
    }

    /// Returns the signature algorithm.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.pair.algorithm()
    }

    /// Returns the published id.
    pub(super) fn id(&self) -> &str {
        self.public.kid.as_deref().unwrap_or_default()
    }

    pub(super) fn public(&self) -> &Jwk {
        &self.public
    }

    /// Signs a message. The signature has the form of RFC 7518, section 3.3 or 3.4, or RFC 8037, section 3.1.
    ///
    /// # Errors
    /// [`KeyError::Signing`] if the system has no randomness.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.pair {
            Pair::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let random = SystemRandom::new();
                let signed = key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
                signed.map(|()| signature).map_err(|_| KeyError::Signing)
            }
            Pair::Ecdsa(key) => {
                let signature = key.sign(&SystemRandom::new(), message);
                let signature = signature.map_err(|_| KeyError::Signing)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }

    /// Signs a token with these claims.
    pub(super) fn token(&self, claims: &Value) -> Result<String, KeyError> {
        let header = jws::header(self.algorithm(), self.id());
        jws::compose(&header, claims, |message| self.sign(message))
    }
}

impl Pair {
    fn of(pkcs8: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let ecdsa = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random);
        let ecdsa = ecdsa.ok().map(Self::Ecdsa);
        // openssl writes these keys without their public half.
        let edwards = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).ok().map(Self::Ed25519);
        ecdsa.or_else(edwards)
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa(_) => Algorithm::Rs256,
            Self::Ecdsa(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Returns the public key, still without an id.
    fn public(&self) -> Jwk {
        let encode = |bytes: &[u8]| Some(URL_SAFE_NO_PAD.encode(bytes));
        let common = Jwk {
            key_use: Some("sig".to_owned()),
            alg: Some(self.algorithm().name().to_owned()),
            ..Jwk::default()
        };
        match self {
            Self::Rsa(key) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = key.public().into();
                Jwk { kty: "RSA".to_owned(), n: encode(&n), e: encode(&e), ..common }
            }
            Self::Ecdsa(key) => {
                // The first byte says that both coordinates follow.
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                Jwk {
                    kty: "EC".to_owned(),
                    crv: Some("P-256".to_owned()),
                    x: encode(x),
                    y: encode(y),
                    ..common
                }
            }
            Self::Ed25519(key) => Jwk {
                kty: "OKP".to_owned(),
                crv: Some("Ed25519".to_owned()),
                x: encode(key.public_key().as_ref()),
                ..common
            },
        }
    }
}

/// Returns the thumbprint of a key (RFC 7638): the hash of its required members in order.
fn thumbprint(key: &Jwk) -> String {
    let members = [
        ("crv", key.crv.as_ref()),
        ("e", key.e.as_ref()),
        ("kty", Some(&key.kty)),
        ("n", key.n.as_ref()),
        ("x", key.x.as_ref()),
        ("y", key.y.as_ref()),
    ];
    let there =
        members.into_iter().filter_map(|(name, value)| Some(format!(r#""{name}":"{}""#, value?)));
    let text = format!("{{{}}}", there.collect::<Vec<_>>().join(","));
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// Returns the first private key in a PEM file (RFC 7468).
fn pem(text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let encoded: String = body.split_whitespace().collect();
    STANDARD.decode(encoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, PEM_KEYS, pem_file, wrapped};
    use bridge_verify::Verify as _;
    use serde_json::json;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_token_is_verified_by_the_published_key() {
        for (pem, algorithm) in PEM_KEYS {
            let (_folder, path) = pem_file(pem);
            let key = PrivateKey::read(&path, Some("own")).unwrap();
            let token = key.token(&json!({"sub": "x"})).unwrap();
            let jws = jws::Jws::parse(&token).unwrap();
            let named = (jws.header.alg.as_str(), jws.header.kid.as_deref());
            assert_eq!(named, (algorithm.name(), Some("own")));
            let public = key.public();
            assert!(public.verifies(algorithm, jws.message, &jws.signature));
            let says = (public.alg.as_deref(), public.key_use.as_deref());
            assert_eq!(says, (Some(algorithm.name()), Some("sig")));
            assert_eq!(format!("{key:?}"), "PrivateKey(own)");
        }
    }

    #[test]
    fn a_token_of_the_issuer_is_verified_by_its_key_alone() {
        let key = testing::key(0);
        let token = key.token(&json!({"sub": "x"})).unwrap();
        let jws = jws::Jws::parse(&token).unwrap();
        assert!(key.public().verifies(Algorithm::Rs256, jws.message, &jws.signature));
        assert!(!key.public().verifies(Algorithm::Rs384, jws.message, &jws.signature));
        assert!(!testing::key(1).public().verifies(Algorithm::Rs256, jws.message, &jws.signature));
    }

    #[test]
    fn an_invalid_key_is_rejected() {
        let error = PrivateKey::rsa(&[1, 2, 3]).unwrap_err();
        assert!(error.to_string().starts_with("expected an RSA key of at least 2048 bits"));
    }

    #[test]
    fn a_file_without_a_supported_key_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        for (text, mode, expected) in [
            (wrapped(PEM_KEYS[0].0), 0o644, "chmod 600"),
            (wrapped("AAAA"), 0o600, "PKCS #8 in PEM"),
            (String::new(), 0o600, "PKCS #8 in PEM"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = PrivateKey::read(&path, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = PrivateKey::read(&folder.path().join("none"), None).unwrap_err();
        assert!(matches!(error, PrivateKeyError::Io { .. }));
    }
}
