//! Signed tokens in their compact form: three pieces of base64url between dots (RFC 7515, section 3.1).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Algorithm;

/// The longest token that is looked at, in bytes; servers refuse longer headers anyway.
const LIMIT: usize = 16 * 1024;

/// A token taken apart. Nothing in it is to be believed before the signature is checked.
#[derive(Debug)]
pub(super) struct Jws<'a> {
    pub(super) header: Header,
    pub(super) claims: Map<String, Value>,
    /// What is signed.
    pub(super) message: &'a [u8],
    pub(super) signature: Vec<u8>,
}

/// The header's members that matter here.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    #[serde(default)]
    pub(super) kid: Option<String>,
    /// Extensions that must be understood: nobody here understands any (section 4.1.11).
    #[serde(default)]
    pub(super) crit: Option<Value>,
}

impl<'a> Jws<'a> {
    /// Takes a token apart; nothing, if it has not that form.
    pub(super) fn parse(token: &'a str) -> Option<Self> {
        if token.len() > LIMIT {
            return None;
        }
        let (message, signature) = token.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        let header: Header = serde_json::from_slice(&decode(header)?).ok()?;
        if header.crit.is_some() {
            return None;
        }
        Some(Self {
            header,
            claims: serde_json::from_slice(&decode(claims)?).ok()?,
            message: message.as_bytes(),
            signature: decode(signature)?,
        })
    }
}

/// The header of a token that is signed so, with the key of this name.
pub(super) fn header(algorithm: Algorithm, key: &str) -> Value {
    json!({"alg": algorithm.name(), "typ": "JWT", "kid": key})
}

/// A token of these, signed by `sign`.
pub(super) fn compose<E>(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<String, E> {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes())?);
    Ok(format!("{message}.{signature}"))
}

fn decode(piece: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(piece).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &Value) -> String {
        compose(header, &json!({"a": 1}), |_| Ok::<_, ()>(vec![1, 2])).unwrap()
    }

    #[test]
    fn a_token_is_composed_and_taken_apart() {
        let token = token(&json!({"alg": "RS256", "kid": "k"}));
        let jws = Jws::parse(&token).unwrap();
        assert_eq!(
            (jws.header.alg.as_str(), jws.header.kid.as_deref()),
            ("RS256", Some("k"))
        );
        assert_eq!(jws.claims["a"], 1);
        assert_eq!(jws.signature, [1, 2]);
        assert!(token.as_bytes().starts_with(jws.message));
    }

    #[test]
    fn what_is_no_token_is_not_taken_apart() {
        let critical = token(&json!({"alg": "RS256", "crit": ["b64"]}));
        let long = format!("{}.", "a".repeat(LIMIT));
        for text in [
            "",
            "a",
            "a.b",
            "a.b.c",
            "..",
            "e30.e30.",
            "e30.e30.e30.e30",
            &critical,
            &long,
        ] {
            assert!(Jws::parse(text).is_none(), "{text}");
        }
    }
}
