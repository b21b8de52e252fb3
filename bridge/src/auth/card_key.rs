//! The private key that agent cards are signed with.

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
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use sha2::{Digest as _, Sha256};

use super::{Algorithm, Jwk, not_private};

/// A key of one of the kinds that cards are signed with.
pub(super) enum PrivateKey {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Why cards cannot be signed.
#[derive(Debug, thiserror::Error)]
pub enum CardKeyError {
    /// The file cannot be read.
    #[error("the key for cards in {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// Others could sign.
    #[error(
        "the key for cards in {path} can be read by others (mode {mode:03o}): expected a file of its owner \
         alone; run chmod 600 {path}"
    )]
    NotPrivate {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file holds something else.
    #[error(
        "the key for cards in {path}: expected a P-256 or Ed25519 key as PKCS #8 in PEM, as openssl genpkey \
         -algorithm ed25519 writes it"
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
}

impl PrivateKey {
    /// The key in this file.
    pub(super) fn read(path: &Path) -> Result<Self, CardKeyError> {
        let unreadable = |error| CardKeyError::Io {
            path: path.to_owned(),
            error,
        };
        let file = File::open(path).map_err(unreadable)?;
        if let Some(mode) = not_private(&file).map_err(unreadable)? {
            return Err(CardKeyError::NotPrivate {
                path: path.to_owned(),
                mode,
            });
        }
        let text = io::read_to_string(file).map_err(unreadable)?;
        let key = pem(&text).and_then(|der| PrivateKey::of(&der));
        key.ok_or_else(|| CardKeyError::NoKey {
            path: path.to_owned(),
        })
    }

    fn of(pkcs8: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let ecdsa = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random);
        let ecdsa = ecdsa.ok().map(Self::Ecdsa);
        // openssl writes these keys without their public half.
        let edwards = || {
            Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8)
                .ok()
                .map(Self::Ed25519)
        };
        ecdsa.or_else(edwards)
    }

    /// How it signs.
    pub(super) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ecdsa(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// A signature; empty, and so never right, if the system gives no randomness.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ecdsa(key) => key
                .sign(&SystemRandom::new(), message)
                .map_or_else(|_| Vec::new(), |signature| signature.as_ref().to_vec()),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// What verifiers need, without a name yet.
    pub(super) fn public(&self) -> Jwk {
        let encode = |bytes: &[u8]| Some(URL_SAFE_NO_PAD.encode(bytes));
        let common = Jwk {
            key_use: Some("sig".to_owned()),
            alg: Some(self.algorithm().name().to_owned()),
            ..Jwk::default()
        };
        match self {
            Self::Ecdsa(key) => {
                // A byte that says that both coordinates follow, then those.
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

/// The name of a key that follows from the key itself (RFC 7638): of its required members, in order.
pub(super) fn thumbprint(key: &Jwk) -> String {
    let members = [
        ("crv", key.crv.as_ref()),
        ("kty", Some(&key.kty)),
        ("x", key.x.as_ref()),
        ("y", key.y.as_ref()),
    ];
    let there = members
        .into_iter()
        .filter_map(|(name, value)| Some(format!(r#""{name}":"{}""#, value?)));
    let text = format!("{{{}}}", there.collect::<Vec<_>>().join(","));
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// The first private key of a file in PEM (RFC 7468).
fn pem(text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let encoded: String = body.split_whitespace().collect();
    STANDARD.decode(encoded).ok()
}
