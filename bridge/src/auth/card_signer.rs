//! Signatures of agent cards (specification 8.4).

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Json, Router, http::header::CACHE_CONTROL, routing::get};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge_protocol::{
    a2a::{AgentCardSignature, Metadata},
    signing::{self, Header},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    CardKeyError, Jwk, Jwks,
    card_key::{PrivateKey, thumbprint},
};

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
        let key = PrivateKey::read(path)?;
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

/// The keys that cards are signed with, where their signatures say that they are.
pub fn card_keys(signer: &Arc<CardSigner>) -> Router {
    let keys = signer.jwks();
    let answer = move || std::future::ready(([(CACHE_CONTROL, CACHE)], Json(keys.clone())));
    Router::new().route(CARD_KEYS, get(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Algorithm;
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
