//! The protected header of a signature (specification 8.4.2; RFC 7515, section 4).

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec::Vec,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::jose::Algorithm;

/// The algorithm and the key with which a card was signed. Nothing in it is trustworthy before the signature is
/// verified, and the key set only if its URL is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The algorithm (`alg`).
    pub algorithm: Algorithm,
    /// The key's id (`kid`).
    pub key_id: String,
    /// The URL of the key set with this key (`jku`).
    pub key_set: Option<String>,
}

/// The reason why a header cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The header is not base64url of a JSON object.
    #[error("expected base64url of a JSON object")]
    Malformed,
    /// The header does not name its key.
    #[error("expected the name of the key in kid")]
    NoKey,
    /// The algorithm is not supported or not asymmetric.
    #[error("expected one of {expected} in alg, found {found:?}")]
    Algorithm {
        /// The supported algorithms.
        expected: String,
        /// The algorithm in the header.
        found: String,
    },
    /// The signature does not have the length of its algorithm.
    #[error("expected base64url of {expected} bytes, as {algorithm} makes them, found {found}")]
    Signature {
        /// The algorithm.
        algorithm: Algorithm,
        /// The expected length in bytes.
        expected: &'static str,
        /// The actual length.
        found: String,
    },
    /// The header has critical extensions, none of which are supported (RFC 7515, section 4.1.11).
    #[error("expected no critical extensions (crit)")]
    Critical,
}

impl Header {
    /// Reads the `protected` field of a signature.
    ///
    /// # Errors
    /// Returns an error if the field is no header, or its signature cannot be verified.
    pub fn read(protected: &str) -> Result<Self, HeaderError> {
        let bytes = URL_SAFE_NO_PAD.decode(protected);
        let header = bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(Value::Object(header)) = header else {
            return Err(HeaderError::Malformed);
        };
        if header.contains_key("crit") {
            return Err(HeaderError::Critical);
        }
        let text = |name: &str| header.get(name).and_then(Value::as_str);
        let algorithm = text("alg").unwrap_or_default();
        let key_id = text("kid").filter(|id| !id.is_empty());
        Ok(Self {
            algorithm: Algorithm::named(algorithm).ok_or_else(|| unknown(algorithm))?,
            key_id: key_id.ok_or(HeaderError::NoKey)?.to_owned(),
            key_set: text("jku").map(ToOwned::to_owned),
        })
    }

    /// Returns the header in the form of a signature's `protected` field.
    pub fn protected(&self) -> String {
        let mut header = json!({
            "alg": self.algorithm.name(),
            "typ": "JOSE",
            "kid": self.key_id,
        });
        if let Some(url) = &self.key_set {
            header["jku"] = url.as_str().into();
        }
        URL_SAFE_NO_PAD.encode(header.to_string())
    }
}

fn unknown(algorithm: &str) -> HeaderError {
    let names: Vec<&str> = Algorithm::ALL.iter().map(|one| one.name()).collect();
    HeaderError::Algorithm {
        expected: names.join(", "),
        found: algorithm.chars().take(100).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_written_and_read() {
        // The example of specification 8.4.2.
        let example = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpPU0UiLCJraWQiOiJrZXktMSIsImprdSI6Imh0dHBzOi8vZXhhbXBsZS5jb20vYWdlbnQvandrcy5qc29uIn0";
        let header = Header::read(example).unwrap();
        assert_eq!(header.algorithm, Algorithm::Es256);
        assert_eq!(header.key_id, "key-1");
        let key_set = header.key_set.as_deref();
        assert_eq!(key_set, Some("https://example.com/agent/jwks.json"));
        assert_eq!(Header::read(&header.protected()), Ok(header));
    }

    #[test]
    fn an_uncheckable_signature_is_reported() {
        let encoded = |header: Value| URL_SAFE_NO_PAD.encode(header.to_string());
        for (protected, expected) in [
            ("?".to_string(), "expected base64url of a JSON object"),
            (encoded(json!([])), "expected base64url of a JSON object"),
            (encoded(json!({"alg": "ES256"})), "expected the name of the key in kid"),
            (encoded(json!({"alg": "none", "kid": "k"})), "found \"none\""),
            (encoded(json!({"alg": "HS256", "kid": "k"})), "found \"HS256\""),
            (encoded(json!({"alg": "ES256", "kid": "k", "crit": []})), "no critical extensions"),
        ] {
            let error = Header::read(&protected).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
