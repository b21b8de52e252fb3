//! Cards of the `/execute` protocol: a name, one `url`, a version, and skills with schemas.

use serde_json::{Map, Value, json};

use crate::{
    a2a::{AgentCard, AgentInterface, AgentSkill},
    dialect::{
        card::is_bare,
        skill::{
            EXECUTE_BINDING,
            schema::{input_of, output_of},
        },
        v0_3,
    },
    wire::{FieldError, Fields},
};

/// Reads a card found at [`EXECUTE`](crate::dialect::places::EXECUTE), which A2A does not use. `None` if the card names
/// another protocol.
///
/// # Errors
/// The errors of [`to_v1`].
pub fn read_if_bare(value: &Value) -> Option<Result<AgentCard, FieldError>> {
    let fields = Fields::of(value.clone()).ok()?;
    is_bare(&fields).then(|| to_v1(value.clone()))
}

/// Reads a card. Only name and address are required.
///
/// # Errors
/// Returns an error if one of them is missing, or a field has an invalid type.
pub fn to_v1(value: Value) -> Result<AgentCard, FieldError> {
    let mut card = v0_3::card::to_v1(value)?;
    for interface in &mut card.supported_interfaces {
        *interface = interface_at(&interface.url);
    }
    Ok(card)
}

/// Returns the interface of an agent at this address.
pub fn interface_at(url: &str) -> AgentInterface {
    AgentInterface::new(url, EXECUTE_BINDING, "1.0")
}

/// Writes a card with this address.
pub fn from_v1(card: &AgentCard, url: &str) -> Value {
    json!({
        "name": card.name,
        "description": card.description,
        "url": url,
        "version": card.version,
        "skills": card.skills.iter().map(skill_from_v1).collect::<Value>(),
    })
}

fn skill_from_v1(skill: &AgentSkill) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), skill.id.as_str().into());
    object.insert("name".into(), skill.name.as_str().into());
    object.insert("description".into(), skill.description.as_str().into());
    object.insert("tags".into(), skill.tags.clone().into());
    if !skill.examples.is_empty() {
        object.insert("examples".into(), skill.examples.clone().into());
    }
    for (key, schema) in [("input_schema", input_of(skill)), ("output_schema", output_of(skill))] {
        if let Some(schema) = schema {
            object.insert(key.into(), schema.clone());
        }
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Generation, card::read};

    #[test]
    fn a_card_is_recognised_by_its_schemas_and_missing_fields() {
        for (more, generation) in [
            (json!({}), Generation::Execute),
            (json!({"description": "d", "id": "plan"}), Generation::Execute),
            (json!({"capabilities": {}}), Generation::V0_2),
            (json!({"protocolVersion": "0.3.0"}), Generation::V0_3),
            (json!({"authentication": {"type": "none"}}), Generation::V0_1),
        ] {
            let mut card = json!({
                "name": "n", "url": "u",
                "skills": [{"id": "s", "input_schema": {"type": "object"}}],
            });
            for (key, value) in more.as_object().unwrap() {
                card[key] = value.clone();
            }
            assert_eq!(read(card.clone()).unwrap().1, generation, "{card}");
        }
    }

    #[test]
    fn without_schemas_the_place_tells() {
        let plain = json!({"name": "n", "url": "u", "skills": [{"id": "s"}]});
        let card = read_if_bare(&plain).unwrap().unwrap();
        assert_eq!(card.supported_interfaces, [interface_at("u")]);
        assert_eq!(read(plain).unwrap().1, Generation::V0_2);
        assert!(
            read_if_bare(&json!({"name": "n", "url": "u", "protocolVersion": "0.3"})).is_none()
        );
    }
}
