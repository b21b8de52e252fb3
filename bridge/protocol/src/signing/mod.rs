//! What is signed of an agent card, and what a signature says of itself (specification 8.4; RFC 7515 with
//! the payload detached).
//!
//! A signature is over bytes that both sides make of the card they have: the fields of 1.0 and no others,
//! values that are their fields' defaults left out, in the canonical form of RFC 8785. Nothing here holds a
//! private key.
//!
//! - [`payload`], [`payload_of_sdks`]: the bytes
//! - [`Header`]: algorithm and key
//! - [`Standing`], [`form`]: what can be said of a signature without any key
//! - [`verify`]: whether a key has signed a card
//! - [`canonical`]: RFC 8785

mod canonical;
mod header;
mod presence;
mod standing;

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

pub use canonical::canonical;
pub use header::{Header, HeaderError};
pub use standing::{Standing, form};

use crate::jose::Jwk;

/// What is signed of a card, by the words of the specification (8.4.1): `signatures` left out, required
/// fields and those that say whether they were set kept, others only if they are not their default.
pub fn payload(card: &Value) -> String {
    canonical(&presence::card(card))
}

/// What the SDKs sign of a card: as [`payload`], but every empty text, list and object is left out wherever
/// it stands, those of required fields too. It differs where a card has any, as requirements without
/// scopes are; whoever reads such a signature must not draw conclusions from what is empty.
pub fn payload_of_sdks(card: &Value) -> String {
    let whole = filled(presence::card(card));
    canonical(&whole.unwrap_or(Value::Object(Map::new())))
}

/// What is left of a value without what is empty in it.
fn filled(value: Value) -> Option<Value> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(filled).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let kept = members.into_iter();
            let kept: Map<String, Value> = kept
                .filter_map(|(key, one)| Some((key, filled(one)?)))
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        // In protobuf's JSON a null is a field that is not set, but for one among free-form data.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value),
    }
}

/// What the signature is over: header and payload, encoded, with a dot between them (RFC 7515, section 5.1).
pub fn signing_input(protected: &str, payload: &str) -> String {
    let payload = URL_SAFE_NO_PAD.encode(payload);
    [protected, ".", &payload].concat()
}

/// Whether this key has signed the card, in the form of the specification or of the SDKs. `protected` and
/// `signature` are those of one of the card's signatures, `header` what [`Header::read`] made of the first.
pub fn verify(card: &Value, protected: &str, signature: &str, header: &Header, key: &Jwk) -> bool {
    let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
        return false;
    };
    [payload(card), payload_of_sdks(card)]
        .iter()
        .any(|payload| {
            let input = signing_input(protected, payload);
            key.verifies(header.algorithm, input.as_bytes(), &signature)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The example of specification 8.4.1.
    #[test]
    fn defaults_are_left_out_as_the_specification_says() {
        let card = json!({
            "name": "Example Agent", "description": "",
            "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
            "skills": [],
        });
        assert_eq!(
            payload(&card),
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#
        );
        assert_eq!(
            payload_of_sdks(&card),
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}"#
        );
    }

    #[test]
    fn only_what_1_0_knows_is_signed() {
        let card = json!({
            "name": "n", "url": "u", "protocolVersion": "0.3.0", "iconUrl": "", "provider": null,
            "signatures": [{"protected": "p", "signature": "s"}],
            "securitySchemes": {
                "b": {"type": "http", "httpAuthSecurityScheme": {"scheme": "b", "bearerFormat": ""}},
                "o": {"oauth2SecurityScheme": {"flows": {"implicit": {"scopes": {}}, "clientCredentials":
                    {"tokenUrl": "t", "scopes": {}}}, "in": "x"}},
            },
            "securityRequirements": [{"schemes": {"b": {"list": []}}}],
            "capabilities": {"stateTransitionHistory": true, "extensions": [
                {"uri": "", "required": false, "params": {"a": "", "b": [], "1": 1.0}}]},
        });
        assert_eq!(
            payload(&card),
            concat!(
                r#"{"capabilities":{"extensions":[{"params":{"1":1,"a":"","b":[]}}]},"iconUrl":"","name":"n","#,
                r#""securityRequirements":[{"schemes":{"b":{}}}],"securitySchemes":{"b":{"httpAuthSecurityScheme":"#,
                r#"{"scheme":"b"}},"o":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"scopes":{},"#,
                r#""tokenUrl":"t"},"implicit":{}}}}}}"#
            )
        );
        assert_eq!(
            payload_of_sdks(&card),
            concat!(
                r#"{"capabilities":{"extensions":[{"params":{"1":1}}]},"name":"n","securitySchemes":{"b":"#,
                r#"{"httpAuthSecurityScheme":{"scheme":"b"}},"o":{"oauth2SecurityScheme":{"flows":"#,
                r#"{"clientCredentials":{"tokenUrl":"t"}}}}}}"#
            )
        );
        assert_eq!(payload_of_sdks(&json!({"name": ""})), "{}");
    }
}
