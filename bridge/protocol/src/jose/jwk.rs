//! Public keys as JSON (RFC 7517).

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::algorithm::{Algorithm, Check};

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
        Some(Self {
            keys: keys.into_iter().filter_map(read).collect(),
        })
    }

    /// The keys with this id; all keys for `None`.
    pub fn named(&self, kid: Option<&str>) -> impl Iterator<Item = &Jwk> {
        let is_meant = move |key: &&Jwk| kid.is_none() || key.kid.as_deref() == kid;
        self.keys.iter().filter(is_meant)
    }
}

impl Jwk {
    /// Whether this key made the signature over the message with this algorithm. False for keys with another
    /// purpose, algorithm or curve.
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let says = |said: &Option<String>, expected: &str| {
            said.as_deref().is_none_or(|said| said == expected)
        };
        if !says(&self.key_use, "sig") || !says(&self.alg, algorithm.name()) {
            return false;
        }
        self.check(algorithm, message, signature).is_some()
    }

    fn check(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Option<()> {
        match algorithm.check() {
            Check::Rsa(parameters) if self.kty == "RSA" => {
                let (n, e) = (bytes(&self.n)?, bytes(&self.e)?);
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature).ok()
            }
            Check::Ecdsa(check, curve, length) if self.kty == "EC" => {
                let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
                let right = self.crv.as_deref() == Some(curve);
                if !right || x.len() != length || y.len() != length {
                    return None;
                }
                let point = [&[4], &x[..], &y[..]].concat();
                let key = UnparsedPublicKey::new(check, point);
                key.verify(message, signature).ok()
            }
            Check::Ed25519(check, curve) if self.kty == "OKP" => {
                let is_right = self.crv.as_deref() == Some(curve);
                let key = UnparsedPublicKey::new(check, bytes(&self.x)?);
                let verified = key.verify(message, signature).ok();
                verified.filter(|()| is_right)
            }
            Check::Rsa(_) | Check::Ecdsa(..) | Check::Ed25519(..) => None,
        }
    }
}

fn bytes(field: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(field.as_deref()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;
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
        assert!(!set.keys[1].verifies(Algorithm::Es256, b"m", b"s"));
        for other in [json!([]), json!({}), json!({"keys": {}})] {
            assert_eq!(Jwks::read(other), None);
        }
    }

    /// The example of RFC 7515, appendix A.3.
    #[test]
    fn an_elliptic_curve_signature_is_checked() {
        let key: Jwk = serde_json::from_value(json!({
            "kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        }))
        .unwrap();
        let message = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                       Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = URL_SAFE_NO_PAD
            .decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
            .unwrap();
        assert!(key.verifies(Algorithm::Es256, message.as_bytes(), &signature));
        assert!(!key.verifies(Algorithm::Es256, b"another", &signature));
        assert!(!key.verifies(Algorithm::Es384, message.as_bytes(), &signature));
        assert!(!key.verifies(Algorithm::Rs256, message.as_bytes(), &signature));
        let (encrypting, other) = (Some("enc".to_owned()), Some("ES384".to_owned()));
        for key in [
            Jwk {
                key_use: encrypting,
                ..key.clone()
            },
            Jwk { alg: other, ..key },
        ] {
            assert!(!key.verifies(Algorithm::Es256, message.as_bytes(), &signature));
        }
    }

    /// The example of RFC 8037, appendix A.4.
    #[test]
    fn an_edwards_curve_signature_is_checked() {
        let key: Jwk = serde_json::from_value(json!({
            "kty": "OKP", "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }))
        .unwrap();
        let message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = URL_SAFE_NO_PAD
            .decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
            .unwrap();
        assert!(key.verifies(Algorithm::EdDsa, message.as_bytes(), &signature));
        assert!(!key.verifies(Algorithm::EdDsa, b"another", &signature));
        assert!(!key.verifies(Algorithm::Es256, message.as_bytes(), &signature));
        let other = Jwk {
            crv: Some("Ed448".to_owned()),
            ..key
        };
        assert!(!other.verifies(Algorithm::EdDsa, message.as_bytes(), &signature));
    }
}
