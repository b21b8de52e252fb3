//! The state of a card's signatures as far as it is known without keys.

use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{Header, HeaderError};
use crate::{a2a::AgentCardSignature, jose::Algorithm};

/// The state of a card's signatures as far as it is known without keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureState {
    /// The card has no signatures.
    Unsigned,
    /// No signature can be valid; the reason is that of the first.
    Malformed(String),
    /// A signature names this key. It has not been verified.
    Unverified {
        /// The key's id.
        key_id: String,
    },
}

impl SignatureState {
    /// Returns the state for these signatures.
    pub fn of(signatures: &[AgentCardSignature]) -> Self {
        let mut first = None;
        for one in signatures {
            match form(&one.protected, &one.signature) {
                Ok(Header { key_id, .. }) => return Self::Unverified { key_id },
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Self::Unsigned, |error| Self::Malformed(error.to_string()))
    }
}

impl fmt::Display for SignatureState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("not signed"),
            Self::Malformed(why) => write!(f, "signed in an invalid form: {why}"),
            Self::Unverified { key_id } => {
                write!(f, "signed by the key {key_id:?}, which was not verified")
            }
        }
    }
}

/// Reads the header of a signature and checks the signature's length.
///
/// # Errors
/// Returns an error if the signature cannot be valid with any key.
pub fn form(protected: &str, signature: &str) -> Result<Header, HeaderError> {
    let header = Header::read(protected)?;
    let length = URL_SAFE_NO_PAD.decode(signature).map(|bytes| bytes.len());
    let (expected, is_right) = match header.algorithm {
        Algorithm::Es256 | Algorithm::EdDsa => ("64", length == Ok(64)),
        Algorithm::Es384 => ("96", length == Ok(96)),
        // The length is that of the key; keys below 2048 bits are not accepted.
        Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 | Algorithm::Ps256 => {
            ("256 or more", length.as_ref().is_ok_and(|length| *length >= 256))
        }
    };
    match is_right {
        true => Ok(header),
        false => Err(HeaderError::Signature {
            algorithm: header.algorithm,
            expected,
            found: length
                .map_or_else(|_| "something else".to_string(), |length| format!("{length}")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire as _;
    use serde_json::json;

    #[test]
    fn a_card_is_unsigned_malformed_or_unverified() {
        let header = Header { algorithm: Algorithm::Es256, key_id: "k".to_string(), key_set: None };
        let one = |protected: &str, signature: &str| {
            let signature = json!({"protected": protected, "signature": signature});
            AgentCardSignature::read(signature).unwrap()
        };
        let protected = header.protected();
        let right = one(&protected, &URL_SAFE_NO_PAD.encode([1; 64]));
        for (signatures, expected) in [
            (&[][..], "not signed"),
            (
                &[one(&protected, "AAAA")],
                "expected base64url of 64 bytes, as ES256 makes them, found 3",
            ),
            (&[one(&protected, "?")], "found something else"),
            (&[one("e30", "AAAA")], "found \"\""),
            (&[one("?", "AAAA"), right], "signed by the key \"k\", which was not verified"),
        ] {
            let told = SignatureState::of(signatures).to_string();
            assert!(told.contains(expected), "{told}");
        }
    }
}
