//! Public keys as JSON (RFC 7517).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A public key. Keys of unknown kinds can be read but verify nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    /// The kind: `RSA`, `EC` or `OKP`.
    pub kty: String,
    /// The id by which tokens refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// The purpose, such as `sig`, if given.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub key_use: Option<String>,
    /// The only algorithm to be used with it, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// The modulus of an RSA key, base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<String>,
    /// The exponent of an RSA key, base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e: Option<String>,
    /// The curve of an EC or OKP key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crv: Option<String>,
    /// A coordinate of an EC key, or an OKP key itself, base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The other coordinate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
}

/// A set of public keys, as published by an issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Jwks {
    /// The keys.
    pub keys: Vec<Jwk>,
}

impl Jwks {
    /// Reads a published set. Invalid members are skipped, as section 5 requires.
    pub fn read(document: Value) -> Option<Self> {
        let Value::Object(mut document) = document else {
            return None;
        };
        let Some(Value::Array(keys)) = document.remove("keys") else {
            return None;
        };
        let read = |key| serde_json::from_value(key).ok();
        Some(Self { keys: keys.into_iter().filter_map(read).collect() })
    }

    /// Returns the keys with this id; all keys for `None`.
    pub fn named(&self, kid: Option<&str>) -> impl Iterator<Item = &Jwk> {
        let is_meant = move |key: &&Jwk| kid.is_none() || key.kid.as_deref() == kid;
        self.keys.iter().filter(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_set_with_keys_of_other_kinds_is_read() {
        let set = json!({"keys": [
            {"kty": "RSA", "kid": "a", "n": "AQAB", "e": "AQAB", "x5c": ["..."]},
            {"kty": "OKP", "kid": "b", "crv": "Ed25519", "x": "AA"},
            {"kid": "no kind"}, 7,
        ]});
        let set = Jwks::read(set).unwrap();
        let kinds: Vec<_> = set.keys.iter().map(|key| key.kty.as_str()).collect();
        assert_eq!(kinds, ["RSA", "OKP"]);
        assert_eq!(set.named(Some("b")).count(), 1);
        assert_eq!(set.named(Some("c")).count(), 0);
        assert_eq!(set.named(None).count(), 2);
        for other in [json!([]), json!({}), json!({"keys": {}})] {
            assert_eq!(Jwks::read(other), None);
        }
    }
}
