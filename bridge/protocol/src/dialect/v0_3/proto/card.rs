//! Agent cards in ProtoJSON of 0.3, which differ from those in JSON by their security: it is written as in 1.0.

use serde_json::{Map, Value};

use crate::{
    a2a::{AgentCard, AgentSkill, SecurityRequirement, SecurityScheme},
    dialect::{Losses, card, v0_3::security},
    wire::{Wire as _, to_value},
};

/// Writes a card.
pub fn from_v1(card: &AgentCard, losses: &mut Losses) -> Value {
    let mut written = card::to_v0_3(card, losses);
    written["securitySchemes"] = to_value(&card.security_schemes);
    written["security"] = to_value(&card.security_requirements);
    let skills = written.get_mut("skills").and_then(Value::as_array_mut);
    let put = |(written, skill): (&mut Value, &AgentSkill)| {
        written["security"] = to_value(&skill.security_requirements);
    };
    skills.into_iter().flatten().zip(&card.skills).for_each(put);
    written
}

/// Converts a card to its form over JSON-RPC. Invalid members are unchanged; the reader of that form reports them.
pub fn read(mut card: Value) -> Value {
    let schemes = card.get_mut("securitySchemes").and_then(Value::as_object_mut);
    schemes.into_iter().flat_map(Map::values_mut).for_each(|one| {
        if let Ok(scheme) = SecurityScheme::read(one.clone()) {
            *one = security::scheme_from_v1(&scheme, &mut Losses::new());
        }
    });
    plain_requirements(&mut card);
    let skills = card.get_mut("skills").and_then(Value::as_array_mut);
    skills.into_iter().flatten().for_each(plain_requirements);
    card
}

fn plain_requirements(of: &mut Value) {
    let all = of.get_mut("security").and_then(Value::as_array_mut);
    for one in all.into_iter().flatten() {
        if let Ok(requirement) = SecurityRequirement::read(one.clone()) {
            *one = security::requirement_from_v1(&requirement, &mut Losses::new());
        }
    }
}
