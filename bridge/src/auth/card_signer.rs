//! Signatures of agent cards (specification 8.4).

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Json, Router, http::header::CACHE_CONTROL, routing::get};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bridge_protocol::{
    a2a::{AgentCardSignature, Metadata},
    signing::{self, Header},
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Algorithm, Jwk, Jwks, not_private};

/// Where the keys are that cards are signed with, below the bridge's address.
pub const CARD_KEYS: &str = "/.well-known/agent-card-keys.json";

/// How long they may be used without asking again.
const CACHE: &str = "public, max-age=3600";

/// How many signatures are kept: one for each card and address by which it is asked for.
const KEPT: usize = 256;

/// Signs agent cards. What was signed once is not signed again, so a card that stays the same is the same
/// document.
pub struct CardSigner {
    key: PrivateKey,
    public: Jwk,
    made: Mutex<BTreeMap<Vec<u8>, AgentCardSignature>>,
}

enum PrivateKey {
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

impl std::fmt::Debug for CardSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CardSigner({})", self.key_id())
    }
}

impl CardSigner {
    /// Signs with the key in this file, which goes by this name, or by its thumbprint (RFC 7638).
    ///
    /// # Errors
    /// If the file cannot be read, others can read it, or it holds no key of a known kind.
    pub fn read(path: &Path, key_id: Option<&str>) -> Result<Self, CardKeyError> {
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
        let key = key.ok_or_else(|| CardKeyError::NoKey {
            path: path.to_owned(),
        })?;
        Ok(Self::with(key, key_id))
    }

    fn with(key: PrivateKey, key_id: Option<&str>) -> Self {
        let mut public = key.public();
        public.kid = Some(key_id.map_or_else(|| thumbprint(&public), str::to_owned));
        Self {
            key,
            public,
            made: Mutex::default(),
        }
    }

    /// The signatures of a card, which is a document of 1.0 and may carry the fields of older versions: one
    /// over what the specification says is signed, and one over what the SDKs make of it if that differs.
    /// `origin` is where clients reach the bridge.
    pub fn sign(&self, card: &Value, origin: &str) -> Vec<AgentCardSignature> {
        let header = Header {
            algorithm: self.key.algorithm(),
            key_id: self.key_id().to_owned(),
            key_set: Some(format!("{origin}{CARD_KEYS}")),
        };
        let protected = header.protected();
        let mut payloads = vec![signing::payload(card), signing::payload_of_sdks(card)];
        payloads.dedup();
        let signed = payloads
            .iter()
            .map(|payload| self.signature(&protected, payload));
        signed.collect()
    }

    /// The keys that verifiers need.
    pub fn jwks(&self) -> Jwks {
        Jwks {
            keys: vec![self.public.clone()],
        }
    }

    fn key_id(&self) -> &str {
        self.public.kid.as_deref().unwrap_or_default()
    }

    fn signature(&self, protected: &str, payload: &str) -> AgentCardSignature {
        let input = signing::signing_input(protected, payload);
        let print = Sha256::digest(&input).to_vec();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&print) {
            return known.clone();
        }
        let signature = AgentCardSignature {
            protected: protected.to_owned(),
            signature: URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes())),
            header: None,
            extra: Metadata::new(),
        };
        if made.len() >= KEPT {
            made.clear();
        }
        made.insert(print, signature.clone());
        signature
    }
}

impl PrivateKey {
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

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ecdsa(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// The signature; empty, and so never right, if the system gives no randomness.
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ecdsa(key) => key
                .sign(&SystemRandom::new(), message)
                .map_or_else(|_| Vec::new(), |signature| signature.as_ref().to_vec()),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    fn public(&self) -> Jwk {
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
fn thumbprint(key: &Jwk) -> String {
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

/// The keys that cards are signed with, where their signatures say that they are.
pub fn card_keys(signer: &Arc<CardSigner>) -> Router {
    let keys = signer.jwks();
    let answer = move || std::future::ready(([(CACHE_CONTROL, CACHE)], Json(keys.clone())));
    Router::new().route(CARD_KEYS, get(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    /// Made by openssl genpkey, and used nowhere else.
    const KEYS: [(&str, Algorithm); 2] = [
        (
            "MC4CAQAwBQYDK2VwBCIEIJ63aLLePOZFicbb+C0/w2nkGnf5M8erqxdWCX+ft3Vf",
            Algorithm::EdDsa,
        ),
        (ECDSA_KEY, Algorithm::Es256),
    ];
    const ECDSA_KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcCU4gz0ZbSkcAPKp38PtKy+cpCdlgLQFp6TKdJxQipOhRANCAAS5wwhftLh3HThvlEk5GrH3b57VKghjItsQq0IGiJrhgN2ec7N+MS03xLky+DccFEYpXG2gw24b8LPOO7SVKdks";

    fn signer(key: &str) -> CardSigner {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        fs::write(&path, wrapped(key)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        CardSigner::read(&path, None).unwrap()
    }

    fn wrapped(key: &str) -> String {
        format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")
    }

    #[test]
    fn what_is_signed_is_verified_by_the_published_key() {
        for (key, algorithm) in KEYS {
            let signer = signer(key);
            let card = json!({"name": "n", "description": "d", "skills": [{"id": "s"}]});
            let signed = signer.sign(&card, "https://h.test");
            assert_eq!(signed, signer.sign(&card, "https://h.test"), "kept");
            assert_eq!(signed.len(), 1);
            let header = Header::read(&signed[0].protected).unwrap();
            assert_eq!(header.algorithm, algorithm);
            let expected = format!("https://h.test{CARD_KEYS}");
            assert_eq!(header.key_set.as_deref(), Some(expected.as_str()));
            let keys = signer.jwks().keys;
            assert_eq!(keys[0].kid.as_deref(), Some(header.key_id.as_str()));
            let right = |card: &Value| {
                let (protected, made) = (&signed[0].protected, &signed[0].signature);
                signing::verify(card, protected, made, &header, &keys[0])
            };
            assert!(right(&card));
            assert!(!right(&json!({"name": "other"})));
            assert!(!format!("{signer:?}").contains(key));
        }
    }

    #[test]
    fn a_card_with_what_is_empty_has_two_signatures() {
        let card = json!({"name": "n", "description": ""});
        assert_eq!(signer(KEYS[0].0).sign(&card, "").len(), 2);
    }

    #[test]
    fn a_file_that_holds_no_key_of_ours_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        for (text, mode, expected) in [
            (wrapped(KEYS[0].0), 0o644, "chmod 600"),
            (wrapped("AAAA"), 0o600, "PKCS #8 in PEM"),
            (String::new(), 0o600, "PKCS #8 in PEM"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = CardSigner::read(&path, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = CardSigner::read(&folder.path().join("none"), None).unwrap_err();
        assert!(matches!(error, CardKeyError::Io { .. }));
    }
}
