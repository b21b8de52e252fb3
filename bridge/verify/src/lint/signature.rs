//! Checks the form of a card's signatures (specification 8.4). Whether a signature is valid needs its key.

use serde_json::Value;

use super::{Level, Linter};
use bridge_protocol::signing::{Header, HeaderError, form};

impl Linter<'_> {
    pub(super) fn signatures(&mut self) {
        let signatures = self.card.get("signatures").and_then(Value::as_array);
        for (index, signature) in signatures.into_iter().flatten().enumerate() {
            let at = |name: &str| format!("signatures[{index}].{name}");
            let text = |name: &str| signature.get(name).and_then(Value::as_str);
            let (protected, made) = (text("protected"), text("signature"));
            match form(protected.unwrap_or_default(), made.unwrap_or_default()) {
                Ok(Header { key_set: Some(url), .. }) if !url.starts_with("https://") => self.add(
                    Level::Note,
                    "signature",
                    at("protected"),
                    format!("the key is at {url:?}, where it could be changed in transit"),
                    "publish it with https (specification 8.4.3)",
                ),
                Ok(_) => {}
                Err(error) => self.add(
                    Level::Error,
                    "signature",
                    at(match error {
                        HeaderError::Signature { .. } => "signature",
                        HeaderError::Malformed
                        | HeaderError::NoKey
                        | HeaderError::Algorithm { .. }
                        | HeaderError::Critical => "protected",
                    }),
                    error.to_string(),
                    "sign the card again, or leave the signature out",
                ),
            }
        }
    }
}
