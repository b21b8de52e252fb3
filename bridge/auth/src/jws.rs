//! Signed tokens in their compact form: three pieces of base64url between dots (RFC 7515, section 3.1).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge_protocol::wire;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Algorithm;

/// The longest token that is read, in bytes; servers refuse longer headers anyway.
const LIMIT: usize = 16 * 1024;

/// A parsed token. Nothing in it is trustworthy before the signature is verified.
#[derive(Debug)]
pub(super) struct Jws<'a> {
    pub(super) header: Header,
    pub(super) claims: Map<String, Value>,
    /// The signed bytes.
    pub(super) message: &'a [u8],
    pub(super) signature: Vec<u8>,
}

/// The members of the header that matter here.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    #[serde(default)]
    pub(super) kid: Option<String>,
    /// Critical extensions, none of which are supported (section 4.1.11).
    #[serde(default)]
    pub(super) crit: Option<Value>,
}

impl<'a> Jws<'a> {
    /// Parses a token; `None` if it is malformed.
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
            claims: wire::from_slice(&decode(claims)?).ok()?,
            message: message.as_bytes(),
            signature: decode(signature)?,
        })
    }
}

/// Returns the header of a token signed with this algorithm and key id.
pub(super) fn header(algorithm: Algorithm, key: &str) -> Value {
    json!({"alg": algorithm.name(), "typ": "JWT", "kid": key})
}

/// Builds a token and signs it with `sign`.
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
        assert_eq!((jws.header.alg.as_str(), jws.header.kid.as_deref()), ("RS256", Some("k")));
        assert_eq!(jws.claims["a"], 1);
        assert_eq!(jws.signature, [1, 2]);
        assert!(token.as_bytes().starts_with(jws.message));
    }

    #[test]
    fn an_invalid_token_is_not_parsed() {
        let critical = token(&json!({"alg": "RS256", "crit": ["b64"]}));
        let long = format!("{}.", "a".repeat(LIMIT));
        for text in ["", "a", "a.b", "a.b.c", "..", "e30.e30.", "e30.e30.e30.e30", &critical, &long]
        {
            assert!(Jws::parse(text).is_none(), "{text}");
        }
    }
}
