//! Verifies signatures with public keys (RFC 7518, section 3), and the signatures of agent cards.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge_protocol::{
    jose::{Algorithm, Jwk},
    signing::{Header, payload, payload_of_sdks, signing_input},
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

/// A public key that verifies signatures.
pub trait Verify {
    /// Returns whether this key made the signature over the message with this algorithm. False for keys with another
    /// purpose, algorithm or curve.
    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool;
}

impl Verify for Jwk {
    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let says = |value: &Option<String>, expected: &str| {
            value.as_deref().is_none_or(|value| value == expected)
        };
        if !says(&self.key_use, "sig") || !says(&self.alg, algorithm.name()) {
            return false;
        }
        check(self, algorithm, message, signature).is_some()
    }
}

/// Returns whether this key has signed the card, in the form of the specification or of the SDKs. `protected` and
/// `signature` come from one of the card's signatures; `header` is the result of [`Header::read`] for `protected`.
pub fn card_is_signed(
    card: &Value,
    protected: &str,
    signature: &str,
    header: &Header,
    key: &Jwk,
) -> bool {
    let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
        return false;
    };
    [payload(card), payload_of_sdks(card)].iter().any(|payload| {
        let input = signing_input(protected, payload);
        key.verifies(header.algorithm, input.as_bytes(), &signature)
    })
}

fn check(key: &Jwk, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Option<()> {
    let rsa = |parameters| {
        let key = RsaPublicKeyComponents { n: bytes(&key.n)?, e: bytes(&key.e)? };
        key.verify(parameters, message, signature).ok()
    };
    let is_curve = |curve: &str| key.crv.as_deref() == Some(curve);
    // `length` is that of a coordinate, in bytes.
    let ecdsa = |parameters, length: usize| {
        let (x, y) = (bytes(&key.x)?, bytes(&key.y)?);
        let is_point = x.len() == length && y.len() == length;
        let key = UnparsedPublicKey::new(parameters, [&[4], &x[..], &y[..]].concat());
        key.verify(message, signature).ok().filter(|()| is_point)
    };
    match (algorithm, key.kty.as_str()) {
        (Algorithm::Rs256, "RSA") => rsa(&RSA_PKCS1_2048_8192_SHA256),
        (Algorithm::Rs384, "RSA") => rsa(&RSA_PKCS1_2048_8192_SHA384),
        (Algorithm::Rs512, "RSA") => rsa(&RSA_PKCS1_2048_8192_SHA512),
        (Algorithm::Ps256, "RSA") => rsa(&RSA_PSS_2048_8192_SHA256),
        (Algorithm::Es256, "EC") if is_curve("P-256") => ecdsa(&ECDSA_P256_SHA256_FIXED, 32),
        (Algorithm::Es384, "EC") if is_curve("P-384") => ecdsa(&ECDSA_P384_SHA384_FIXED, 48),
        (Algorithm::EdDsa, "OKP") if is_curve("Ed25519") => {
            let key = UnparsedPublicKey::new(&ED25519, bytes(&key.x)?);
            key.verify(message, signature).ok()
        }
        (
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Es256
            | Algorithm::Es384
            | Algorithm::EdDsa,
            _,
        ) => None,
    }
}

fn bytes(field: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(field.as_deref()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_of_another_kind_verifies_nothing() {
        for key in
            [json!({"kty": "OKP", "crv": "Ed25519", "x": "AA"}), json!({"kty": "oct", "k": "AQAB"})]
        {
            let key: Jwk = serde_json::from_value(key).unwrap();
            for algorithm in Algorithm::ALL {
                assert!(!key.verifies(algorithm, b"m", b"s"), "{algorithm}");
            }
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
        for key in [Jwk { key_use: encrypting, ..key.clone() }, Jwk { alg: other, ..key }] {
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
        let other = Jwk { crv: Some("Ed448".to_owned()), ..key };
        assert!(!other.verifies(Algorithm::EdDsa, message.as_bytes(), &signature));
    }
}
