//! Agent cards of 0.2, 0.3 and 1.0, and the card that serves readers of all three.

use serde_json::Value;

use super::{
    Losses, Version,
    v0_3::{self, card::is_reachable},
};
use crate::{
    a2a::AgentCard,
    wire::{FieldError, Fields, Wire, to_value},
};

/// The generation in whose form a card is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// 0.2: one `url`, and no `protocolVersion` or one of 0.2.
    V0_2,
    /// 0.3: one `url`, perhaps with `additionalInterfaces`.
    V0_3,
    /// 1.0: `supportedInterfaces`. Cards that carry the fields of 0.3 too are read as 1.0.
    V1_0,
}

/// Reads a card of any generation.
///
/// Cards in the field leave out much that their specification requires, and a reader who refuses them
/// cannot talk to those agents: only a name and an address must be there.
///
/// # Errors
/// If there is no name or no address, or a field is there with a type that it cannot have.
pub fn read(value: Value) -> Result<(AgentCard, Generation), FieldError> {
    const ADDRESS: &str = "at least one of supportedInterfaces, or url as in 0.3";
    let fields = Fields::of(value)?;
    let interfaces = fields.get("supportedInterfaces");
    let has_none = interfaces
        .and_then(Value::as_array)
        .is_some_and(|list| list.is_empty());
    let is_v1 = fields.has("supportedInterfaces") && !has_none;
    let is_older = !is_v1 && fields.has("url");
    let older = older_generation(&fields);
    let value = Value::Object(fields.rest());
    match (is_v1, is_older) {
        (true, _) => Ok((AgentCard::read(value)?, Generation::V1_0)),
        (false, true) => Ok((v0_3::card::to_v1(value)?, older)),
        (false, false) => Err(FieldError::new(ADDRESS, "neither")),
    }
}

fn older_generation(fields: &Fields) -> Generation {
    match fields.get("protocolVersion").and_then(Value::as_str) {
        None | Some("") => Generation::V0_2,
        Some(version) if version.starts_with("0.2") => Generation::V0_2,
        Some(_) => Generation::V0_3,
    }
}

/// Writes a card in the form of 0.3.
pub fn to_v0_3(card: &AgentCard, losses: &mut Losses) -> Value {
    v0_3::card::from_v1(card, losses)
}

/// Writes a card that readers of 0.3 and of 1.0 understand: the document of 1.0 with the fields of 0.3
/// beside it. A card without an interface that speaks 0.3 stays a document of 1.0, so that nobody is
/// led to an address that will not understand them.
pub fn combined(card: &AgentCard) -> Value {
    let mut document = to_value(card);
    if card.supported_interfaces.iter().any(is_reachable) {
        // What 0.3 cannot say is said by the other half.
        overlay(&mut document, to_v0_3(card, &mut Losses::new()));
    }
    document
}

/// Adds members that are missing; the document's own win. Lists of one length are items of one kind.
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
    /// The version in which an agent with such a card is talked to, if its interface says nothing else.
    pub fn version(self) -> Version {
        match self {
            Self::V0_2 | Self::V0_3 => Version::V0_3,
            Self::V1_0 => Version::V1_0,
        }
    }
}
