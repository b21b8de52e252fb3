//! Who has signed a card (specification 8.4). Whether a signature is right is told by its key alone.

use alloc::{format, string::ToString};

use serde_json::Value;

use super::{Level, Linter};
use crate::signing::Header;

impl Linter<'_> {
    pub(super) fn signatures(&mut self) {
        let signatures = self.card.get("signatures").and_then(Value::as_array);
        for (index, signature) in signatures.into_iter().flatten().enumerate() {
            let path = format!("signatures[{index}].protected");
            let protected = signature.get("protected").and_then(Value::as_str);
            match Header::read(protected.unwrap_or_default()) {
                Ok(Header {
                    key_set: Some(url), ..
                }) if !url.starts_with("https://") => self.add(
                    Level::Note,
                    "signature",
                    path,
                    format!("the key is at {url:?}, where it could be changed on the way"),
                    "publish it by https (specification 8.4.3)",
                ),
                Ok(_) => {}
                Err(error) => self.add(
                    Level::Error,
                    "signature",
                    path,
                    error.to_string(),
                    "sign the card again, or leave the signature out",
                ),
            }
        }
    }
}
