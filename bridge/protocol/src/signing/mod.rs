//! The signed form of an agent card, and the headers of its signatures (specification 8.4; RFC 7515 with
//! detached payload).
//!
//! Signer and verifier compute the signed bytes from the card: the fields of 1.0 only, without default
//! values, in the canonical form of RFC 8785. This module holds no private keys, and
//! verifies nothing: `bridge-verify` does.
//!
//! - [`payload`], [`payload_of_sdks`]: the signed bytes
//! - [`Header`]: algorithm and key
//! - [`SignatureState`], [`form`]: the properties of a signature that are known without its key
//! - [`canonical`]: RFC 8785

mod canonical;
mod header;
mod presence;
mod signature_state;

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

pub use canonical::canonical;
pub use header::{Header, HeaderError};
pub use signature_state::{SignatureState, form};

/// Returns the signed form of a card by the specification (8.4.1): without `signatures`; required fields and fields
/// with presence are kept, others only if they are not the default.
pub fn payload(card: &Value) -> String {
    canonical(&presence::card(card))
}

/// Returns the signed form of a card in the SDKs: as [`payload`], but without any empty text, list or object, even in
/// required fields. It differs for cards that have any, such as requirements without scopes. A reader of such a
/// signature must not draw conclusions from empty values.
pub fn payload_of_sdks(card: &Value) -> String {
    let whole = filled(presence::card(card));
    canonical(&whole.unwrap_or(Value::Object(Map::new())))
}

/// Returns the value without empty values in it; `None` if nothing remains.
fn filled(value: Value) -> Option<Value> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(filled).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let kept = members.into_iter();
            let kept: Map<String, Value> =
                kept.filter_map(|(key, one)| Some((key, filled(one)?))).collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        // In protobuf's JSON a null is a field that is not set, except in free-form data.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value),
    }
}

/// Returns the signing input: encoded header and payload with a dot between them (RFC 7515, section 5.1).
pub fn signing_input(protected: &str, payload: &str) -> String {
    let payload = URL_SAFE_NO_PAD.encode(payload);
    [protected, ".", &payload].concat()
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
