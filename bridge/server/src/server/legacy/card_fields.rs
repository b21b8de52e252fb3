//! The fields that cards have for clients of 0.1.

use bridge_protocol::{a2a::AgentCard, dialect::card};
use serde_json::{Value, json};

use crate::server::render;

/// Adds the fields of 0.1 to a card's document. For clients of python-a2a, whose methods have a path each, it also gets
/// `base_url`, the address of these paths, and an `authentication` of type `none`.
pub(in crate::server) fn added(mut document: Value, card: &AgentCard) -> Value {
    let old = render::translated(|losses| card::to_v0_1(card, losses));
    if let (Value::Object(document), Value::Object(old)) = (&mut document, old) {
        for (key, value) in old {
            document.entry(key).or_insert(value);
        }
        let url = document.get("url").cloned().unwrap_or_default();
        document.insert("base_url".to_owned(), url);
        let open = || json!({"type": "none", "schemes": []});
        document.entry("authentication").or_insert_with(open);
    }
    document
}
