//! Agent cards (0.3, section 5.5). Cards of 0.2 have the same form without signatures.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::{interface, security};
use crate::{
    a2a::{
        AgentCapabilities, AgentCard, AgentSkill, Metadata, SecurityRequirement, SecurityScheme,
    },
    dialect::{
        Losses,
        object::{self, Object},
    },
    wire::{FieldError, Fields, Wire, to_value},
};

/// Reads a card. Only its name and `url` are required.
///
/// An invalid security scheme goes into `extra`, because callers without credentials can still use the agent.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<AgentCard, FieldError> {
    const V1_NAMES: [&str; 2] = ["supportedInterfaces", "securityRequirements"];
    let mut fields = Fields::of(value)?;
    let mut residue = Metadata::new();
    Ok(AgentCard {
        name: fields.required("name")?,
        description: fields.optional("description")?,
        supported_interfaces: interface::read(&mut fields, &mut residue)?,
        provider: fields.optional("provider")?,
        version: fields.optional("version")?,
        documentation_url: fields.optional("documentationUrl")?,
        capabilities: read_capabilities(&mut fields)?,
        security_schemes: read_schemes(&mut fields, &mut residue)?,
        security_requirements: read_requirements(&mut fields)?,
        default_input_modes: modes(&mut fields, "defaultInputModes", "default_input_modes")?,
        default_output_modes: modes(&mut fields, "defaultOutputModes", "default_output_modes")?,
        skills: fields.list_by("skills", skill_to_v1)?,
        signatures: fields.optional("signatures")?,
        icon_url: fields.optional("iconUrl")?,
        extra: object::extra(fields, &V1_NAMES, residue),
    })
}

/// Media types under their own name, or under the snake case name in cards written by Python.
fn modes(fields: &mut Fields, name: &str, python: &str) -> Result<Vec<String>, FieldError> {
    match fields.has(name) {
        true => fields.optional(name),
        false => {
            fields.take(name);
            fields.optional(python)
        }
    }
}

fn read_capabilities(fields: &mut Fields) -> Result<AgentCapabilities, FieldError> {
    let mut capabilities: AgentCapabilities = fields.optional("capabilities")?;
    let extended: Option<bool> = fields.optional("supportsAuthenticatedExtendedCard")?;
    capabilities.extended_agent_card = extended.or(capabilities.extended_agent_card);
    Ok(capabilities)
}

fn read_schemes(
    fields: &mut Fields,
    residue: &mut Metadata,
) -> Result<BTreeMap<String, SecurityScheme>, FieldError> {
    let all = fields.optional_by("securitySchemes", named_schemes)?;
    let mut schemes = BTreeMap::new();
    let mut unreadable = Metadata::new();
    for (name, scheme) in all.unwrap_or_default() {
        match security::scheme_to_v1(scheme.clone()) {
            Ok(scheme) => drop(schemes.insert(name, scheme)),
            Err(_) => drop(unreadable.insert(name, scheme)),
        }
    }
    residue.extend(object::residue_under("securitySchemes", unreadable));
    Ok(schemes)
}

/// Schemes by name. Some cards have a list with the names inside; a scheme without name gets its index.
fn named_schemes(value: Value) -> Result<BTreeMap<String, Value>, FieldError> {
    let Value::Array(items) = value else {
        return Wire::read(value);
    };
    let named = |(place, scheme): (usize, Value)| {
        let name = scheme.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| place.to_string(), String::from);
        (name, scheme)
    };
    Ok(items.into_iter().enumerate().map(named).collect())
}

fn read_requirements(fields: &mut Fields) -> Result<Vec<SecurityRequirement>, FieldError> {
    fields.list_by("security", security::requirement_to_v1)
}

fn skill_to_v1(value: Value) -> Result<AgentSkill, FieldError> {
    object::V0_3.skill_to_v1(value, read_requirements)
}

/// Writes a card. Interfaces of other versions than 0.3 are left out, unless there is no other. Fields of a
/// 1.0 card for readers of 0.3, such as `security`, are in its `extra` and are written too.
pub fn from_v1(card: &AgentCard, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("name", card.name.as_str());
    object.put("description", card.description.as_str());
    interface::write(&mut object, card, losses);
    object.some("provider", card.provider.as_ref().map(to_value));
    object.put("version", card.version.as_str());
    object.some("documentationUrl", card.documentation_url.clone());
    object.put("capabilities", write_capabilities(card));
    object.some("supportsAuthenticatedExtendedCard", card.capabilities.extended_agent_card);
    write_security(&mut object, card, losses);
    object.put("defaultInputModes", card.default_input_modes.clone());
    object.put("defaultOutputModes", card.default_output_modes.clone());
    object.put("skills", losses.each("skills", &card.skills, skill_from_v1));
    let signatures: Vec<Value> = card.signatures.iter().map(to_value).collect();
    object.list("signatures", signatures);
    object.some("iconUrl", card.icon_url.clone());
    object.finish(&card.extra, &["additionalInterfaces"], losses)
}

fn write_capabilities(card: &AgentCard) -> Value {
    let mut object = Object::from_value(to_value(&card.capabilities));
    object.take("extendedAgentCard");
    object.finish(&Metadata::new(), &[], &mut Losses::new())
}

fn write_security(object: &mut Object, card: &AgentCard, losses: &mut Losses) {
    let schemes: Map<String, Value> = losses.inside("securitySchemes", |losses| {
        let write = |(name, scheme): (&String, &SecurityScheme)| {
            let scheme = losses.inside(name, |losses| security::scheme_from_v1(scheme, losses));
            (name.clone(), scheme)
        };
        card.security_schemes.iter().map(write).collect()
    });
    object.some("securitySchemes", Some(schemes).filter(|map| !map.is_empty()));
    let requirements = losses.each(
        "securityRequirements",
        &card.security_requirements,
        security::requirement_from_v1,
    );
    object.list("security", requirements);
}

fn skill_from_v1(skill: &AgentSkill, losses: &mut Losses) -> Value {
    let mut object = object::V0_3.skill_from_v1(skill);
    let requirements = losses.each(
        "securityRequirements",
        &skill.security_requirements,
        security::requirement_from_v1,
    );
    object.list("security", requirements);
    object.finish(&skill.extra, &[], losses)
}
