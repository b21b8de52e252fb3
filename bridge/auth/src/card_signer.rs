//! Signs agent cards (specification 8.4).

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{Router, routing::get};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge_program::{Json, lock};
use bridge_protocol::{
    a2a::AgentCardSignature,
    signing::{self, Header},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Jwks, PrivateKey, PrivateKeyError, publish::CACHE};

/// The path of the public keys for card signatures, below the bridge's address.
pub const CARD_KEYS: &str = "/.well-known/agent-card-keys.json";

/// The number of cached signatures: one for each card and address.
const KEPT: usize = 256;

/// Signs agent cards. Signatures are cached, so that an unchanged card is the same document every time.
#[derive(Debug)]
pub struct CardSigner {
    key: PrivateKey,
    made: Mutex<BTreeMap<Vec<u8>, AgentCardSignature>>,
}

impl CardSigner {
    /// Reads the key in this file, which is published under this id, or its thumbprint (RFC 7638).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is readable by others, or has no key of a supported kind.
    pub fn read(path: &Path, key_id: Option<&str>) -> Result<Self, PrivateKeyError> {
        Ok(Self { key: PrivateKey::read(path, key_id)?, made: Mutex::default() })
    }

    /// Signs a card, which is a document of 1.0 and may have fields of older versions. Returns a signature
    /// over the specification's form, and one over the SDKs' form if that differs. `origin` is the address of
    /// the bridge for clients.
    pub fn sign(&self, card: &Value, origin: &str) -> Vec<AgentCardSignature> {
        let header = Header {
            algorithm: self.key.algorithm(),
            key_id: self.key.id().to_owned(),
            key_set: Some(format!("{origin}{CARD_KEYS}")),
        };
        let protected = header.protected();
        let mut payloads = vec![signing::payload(card), signing::payload_of_sdks(card)];
        payloads.dedup();
        let signed = payloads.iter().map(|payload| self.signature(&protected, payload));
        signed.collect()
    }

    /// Returns the public keys for verifiers.
    pub fn jwks(&self) -> Jwks {
        Jwks { keys: vec![self.key.public().clone()] }
    }

    fn signature(&self, protected: &str, payload: &str) -> AgentCardSignature {
        let input = signing::signing_input(protected, payload);
        let print = Sha256::digest(&input).to_vec();
        let mut made = lock(&self.made);
        if let Some(known) = made.get(&print) {
            return known.clone();
        }
        // An empty signature, which is never valid, is used if the system has no randomness.
        let bytes = self.key.sign(input.as_bytes()).unwrap_or_default();
        let signature = AgentCardSignature {
            protected: protected.to_owned(),
            signature: URL_SAFE_NO_PAD.encode(bytes),
            ..AgentCardSignature::default()
        };
        if made.len() >= KEPT {
            made.clear();
        }
        made.insert(print, signature.clone());
        signature
    }
}

/// Returns the router with the public keys, at the path that the signatures name.
pub fn card_keys(signer: &Arc<CardSigner>) -> Router {
    let keys = signer.jwks();
    let answer = move || std::future::ready((CACHE, Json(keys.clone())));
    Router::new().route(CARD_KEYS, get(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PEM_KEYS, pem_file};
    use serde_json::json;

    fn signer(key: &str) -> CardSigner {
        let (_folder, path) = pem_file(key);
        CardSigner::read(&path, None).unwrap()
    }

    #[test]
    fn a_signed_card_is_verified_by_the_published_key() {
        for (key, algorithm) in PEM_KEYS {
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
                bridge_verify::card_is_signed(card, protected, made, &header, &keys[0])
            };
            assert!(right(&card));
            assert!(!right(&json!({"name": "other"})));
            assert!(!format!("{signer:?}").contains(key));
        }
    }

    #[test]
    fn a_card_with_what_is_empty_has_two_signatures() {
        let card = json!({"name": "n", "description": ""});
        assert_eq!(signer(PEM_KEYS[0].0).sign(&card, "").len(), 2);
    }
}
