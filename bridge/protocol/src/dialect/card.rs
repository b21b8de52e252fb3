//! Reads agent cards of all generations, and writes a card for readers of 0.2, 0.3 and 1.0.

use serde_json::Value;

use super::{
    Losses, Version, execute, v0_1,
    v0_3::{self, interface::is_reachable},
};
use crate::{
    a2a::AgentCard,
    wire::{FieldError, Fields, Wire, to_value},
};

/// The generation in whose form a card is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// The `/execute` protocol, not A2A: one `url`, and skills with `input_schema`.
    Execute,
    /// 0.1: one `url` or `base_url`, with `authentication`; also the cards of python-a2a.
    V0_1,
    /// 0.2: one `url`, and no `protocolVersion` or one of 0.2.
    V0_2,
    /// 0.3: one `url`, perhaps with `additionalInterfaces`.
    V0_3,
    /// 1.0: `supportedInterfaces`. Cards with additional fields of 0.3 are read as 1.0.
    V1_0,
}

/// What a card without an address is expected to have.
pub const ADDRESS: &str = "at least one of supportedInterfaces, or url as in 0.3 and before";

/// Reads a card of any generation.
///
/// Only a name and an address are required, because existing cards leave out much that their specification demands.
///
/// # Errors
/// Returns an error if name or address is missing, a field has an invalid type, or the generation needs the
/// feature `legacy` and this build is without.
pub fn read(value: Value) -> Result<(AgentCard, Generation), FieldError> {
    let fields = Fields::of(value)?;
    let interfaces = fields.get("supportedInterfaces");
    let has_none = interfaces.and_then(Value::as_array).is_some_and(|list| list.is_empty());
    let is_v1 = fields.has("supportedInterfaces") && !has_none;
    let is_older = !is_v1 && (fields.has("url") || fields.has("base_url"));
    let older = older_generation(&fields);
    let value = Value::Object(fields.rest());
    match (is_v1, is_older) {
        (true, _) => Ok((AgentCard::read(value)?, Generation::V1_0)),
        (false, true) if older == Generation::Execute => Ok((execute::card::to_v1(value)?, older)),
        (false, true) if older == Generation::V0_1 => Ok((v0_1::card::to_v1(value)?, older)),
        (false, true) => Ok((v0_3::card::to_v1(value)?, older)),
        (false, false) => Err(FieldError::new(ADDRESS, "neither")),
    }
}

fn older_generation(fields: &Fields) -> Generation {
    match fields.get("protocolVersion").and_then(Value::as_str) {
        _ if is_v0_1(fields) => Generation::V0_1,
        _ if is_executes(fields) => Generation::Execute,
        None | Some("") => Generation::V0_2,
        Some(version) if version.starts_with("0.2") => Generation::V0_2,
        Some(_) => Generation::V0_3,
    }
}

/// The capabilities that only python-a2a declares.
pub(crate) const PYTHON_FLAGS: [&str; 2] = ["google_a2a_compatible", "parts_array_format"];

/// Returns whether a card with one address is of 0.1: by its version, or by fields that no other generation has.
fn is_v0_1(fields: &Fields) -> bool {
    let capabilities = fields.get("capabilities");
    let is_pythons = capabilities
        .is_some_and(|capabilities| PYTHON_FLAGS.iter().any(|key| capabilities.get(key).is_some()));
    let is_bases = fields.has("base_url") && !fields.has("url");
    let version = fields.get("protocolVersion").and_then(Value::as_str);
    let is_old = match version {
        None | Some("") => fields.has("authentication"),
        Some(version) => Version::known(version) == Some(Version::V0_1),
    };
    is_pythons || is_bases || is_old
}

/// Fields that cards of A2A have and those of the `/execute` protocol do not.
const OF_A2A: [&str; 6] = [
    "protocolVersion",
    "preferredTransport",
    "additionalInterfaces",
    "capabilities",
    "authentication",
    "base_url",
];

/// Returns whether a card with one address belongs to the `/execute` protocol: a skill has a schema under its names,
/// and no field of A2A is present.
fn is_executes(fields: &Fields) -> bool {
    const SCHEMAS: [&str; 2] = ["input_schema", "output_schema"];
    let skills = fields.get("skills").and_then(Value::as_array);
    let has_schema = |skill: &Value| SCHEMAS.iter().any(|key| skill.get(key).is_some());
    let has_schemas = skills.is_some_and(|skills| skills.iter().any(has_schema));
    has_schemas && is_bare(fields)
}

/// Returns whether a card does not name its protocol, so that its location decides.
pub(crate) fn is_bare(fields: &Fields) -> bool {
    fields.has("url") && !OF_A2A.iter().any(|key| fields.has(key))
}

/// Writes a card in the form of 0.3.
pub fn to_v0_3(card: &AgentCard, losses: &mut Losses) -> Value {
    v0_3::card::from_v1(card, losses)
}

/// Writes a card in the form of 0.1, as served at `/agent.json`.
pub fn to_v0_1(card: &AgentCard, losses: &mut Losses) -> Value {
    v0_1::card::from_v1(card, losses)
}

/// Writes a card for readers of 0.3 and 1.0: the document of 1.0 with additional fields of 0.3. A card
/// without an interface of 0.3 stays a plain document of 1.0, so that no reader of 0.3 calls an address with
/// another version.
pub fn combined(card: &AgentCard) -> Value {
    let mut document = to_value(card);
    if card.supported_interfaces.iter().any(is_reachable) {
        // Whatever 0.3 cannot express is in the fields of 1.0.
        overlay(&mut document, to_v0_3(card, &mut Losses::new()));
    }
    document
}

/// Adds missing members; existing ones are kept. Lists of equal length are merged item by item.
fn overlay(document: &mut Value, more: Value) {
    match (document, more) {
        (Value::Object(document), Value::Object(more)) => {
            for (key, value) in more {
                match document.get_mut(&key) {
                    Some(present) => overlay(present, value),
                    None => drop(document.insert(key, value)),
                }
            }
        }
        (Value::Array(document), Value::Array(more)) if document.len() == more.len() => {
            for (present, value) in document.iter_mut().zip(more) {
                overlay(present, value);
            }
        }
        (_, _) => {}
    }
}

impl Generation {
    /// Returns the version to use with an agent whose interface names none; `None` if it does not speak A2A.
    pub fn version(self) -> Option<Version> {
        match self {
            Self::Execute => None,
            Self::V0_1 => Some(Version::V0_1),
            Self::V0_2 | Self::V0_3 => Some(Version::V0_3),
            Self::V1_0 => Some(Version::V1_0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use serde_json::json;
    use std::string::ToString;

    /// Address, binding and version of each interface.
    fn interfaces(card: &AgentCard) -> Vec<(&str, &str, &str)> {
        let shown = card.supported_interfaces.iter().map(|interface| {
            let binding = interface.protocol_binding.as_str();
            (interface.url.as_str(), binding, interface.protocol_version.as_str())
        });
        shown.collect()
    }

    #[test]
    fn the_generation_is_recognised_by_the_form() {
        for (card, generation) in [
            (json!({"url": "u"}), Generation::V0_2),
            (json!({"url": "u", "authentication": {"schemes": ["Bearer"]}}), Generation::V0_1),
            (json!({"base_url": "u"}), Generation::V0_1),
            (json!({"url": "u", "protocolVersion": "0.1.0"}), Generation::V0_1),
            (
                json!({
                    "url": "u", "protocolVersion": "0.3.0",
                    "capabilities": {"google_a2a_compatible": true},
                }),
                Generation::V0_1,
            ),
            (
                json!({"url": "u", "protocolVersion": "0.3.0", "authentication": "none"}),
                Generation::V0_3,
            ),
            (json!({"url": "u", "protocolVersion": "0.2.6"}), Generation::V0_2),
            (json!({"url": "u", "protocolVersion": "0.3.0"}), Generation::V0_3),
            (json!({"url": "u", "supportedInterfaces": []}), Generation::V0_2),
            (
                json!({
                    "url": "u", "protocolVersion": "0.3.0",
                    "supportedInterfaces": [
                        {"url": "v", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                    ],
                }),
                Generation::V1_0,
            ),
        ] {
            let mut card = card;
            card["name"] = "n".into();
            assert_eq!(read(card.clone()).unwrap().1, generation, "{card}");
        }
    }

    #[test]
    fn the_main_url_comes_first_and_once() {
        let card = json!({
            "name": "n", "url": "u", "preferredTransport": "GRPC", "protocolVersion": "0.3.0",
            "additionalInterfaces": [
                {"url": "u", "transport": "JSONRPC"},
                {"url": "u", "transport": "GRPC"},
                {"url": "u", "transport": "JSONRPC"},
            ],
        });
        let (card, _) = read(card).unwrap();
        assert_eq!(interfaces(&card), [("u", "GRPC", "0.3"), ("u", "JSONRPC", "0.3")]);
        let (sloppy, _) = read(json!({"name": "n", "url": "u"})).unwrap();
        assert_eq!(interfaces(&sloppy), [("u", "JSONRPC", "0.2")]);
    }

    #[test]
    fn a_sloppy_card_is_read() {
        let card = json!({
            "name": "n", "url": "u", "iconUrl": null, "description": null, "capabilities": null,
            "skills": [{"id": "s"}], "securitySchemes": {"odd": {"type": "handshake"}},
        });
        let (read, _) = read(card).unwrap();
        assert!(read.skills[0].tags.is_empty());
        assert!(read.security_schemes.is_empty());
        let written = to_v0_3(&read, &mut Losses::new());
        assert_eq!(written["securitySchemes"]["odd"]["type"], "handshake");
    }

    #[test]
    fn a_card_without_name_or_address_is_refused() {
        for (card, error) in [
            (json!([]), "expected an object, found a list"),
            (
                json!({"name": "n"}),
                "expected at least one of supportedInterfaces, or url as in 0.3 and before, found neither",
            ),
            (
                json!({"name": "n", "supportedInterfaces": []}),
                "expected at least one of supportedInterfaces, or url as in 0.3 and before, found neither",
            ),
            (json!({"url": "u"}), "name: expected a string, found nothing"),
            (
                json!({"name": "n", "url": ""}),
                "url: expected the agent's address, found an empty string",
            ),
            (
                json!({"name": "n", "url": "u", "skills": [{"id": 7}]}),
                "skills[0].id: expected a string, found the number 7",
            ),
        ] {
            assert_eq!(read(card).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn a_combined_card_is_read_as_1_0_and_speaks_0_3() {
        let card = json!({
            "name": "n",
            "supportedInterfaces": [
                {"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            ],
            "capabilities": {"extendedAgentCard": true},
            "securitySchemes": {
                "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            },
            "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        });
        let (card, _) = read(card).unwrap();
        let combined = combined(&card);
        assert_eq!(combined["url"], "u");
        assert_eq!(combined["protocolVersion"], "0.3.0");
        assert_eq!(combined["preferredTransport"], "JSONRPC");
        assert_eq!(combined["supportsAuthenticatedExtendedCard"], true);
        assert_eq!(combined["security"], json!([{"key": []}]));
        let key = &combined["securitySchemes"]["key"];
        assert_eq!((&key["type"], &key["in"]), (&json!("apiKey"), &json!("header")));
        let (read, generation) = read(combined).unwrap();
        assert_eq!(generation, Generation::V1_0);
        assert_eq!(read.supported_interfaces, card.supported_interfaces);
        assert_eq!(read.security_schemes, card.security_schemes);
    }
}
