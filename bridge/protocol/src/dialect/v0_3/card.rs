//! Agent cards (0.3, section 5.5). Cards of 0.2 are the same without signatures.
//!
//! 1.0 has a list of interfaces, each with its version. 0.3 has one main `url` and further interfaces, all
//! of the card's version; the main one may be repeated among them, which means nothing.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::security;
use crate::{
    a2a::{
        AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Metadata, SecurityRequirement,
        SecurityScheme,
    },
    dialect::{
        Losses, Version,
        object::{self, Object, RESIDUE},
    },
    wire::{FieldError, Fields, list, to_value},
};

/// What is meant if a card does not say what is spoken at its `url`.
const DEFAULT_TRANSPORT: &str = "JSONRPC";

/// What a card speaks that does not say: the field came with 0.2.6.
const DEFAULT_VERSION: &str = "0.2";

/// Reads a card. What it says about itself may be missing; its name and `url` may not.
///
/// A security scheme that cannot be read stands in `extra`: it must not hide the agent from callers that
/// need no credentials.
pub fn to_v1(value: Value) -> Result<AgentCard, FieldError> {
    const V1_NAMES: [&str; 2] = ["supportedInterfaces", "securityRequirements"];
    let mut fields = Fields::of(value)?;
    let mut residue = Metadata::new();
    Ok(AgentCard {
        name: fields.required("name")?,
        description: fields.optional("description")?,
        supported_interfaces: read_interfaces(&mut fields, &mut residue)?,
        provider: fields.optional("provider")?,
        version: fields.optional("version")?,
        documentation_url: fields.optional("documentationUrl")?,
        capabilities: read_capabilities(&mut fields)?,
        security_schemes: read_schemes(&mut fields, &mut residue)?,
        security_requirements: read_requirements(&mut fields)?,
        default_input_modes: fields.optional("defaultInputModes")?,
        default_output_modes: fields.optional("defaultOutputModes")?,
        skills: fields
            .optional_by("skills", |skills| list(skills, skill_to_v1))?
            .unwrap_or_default(),
        signatures: fields.optional("signatures")?,
        icon_url: fields.optional("iconUrl")?,
        extra: object::extra(fields, &V1_NAMES, residue),
    })
}

fn read_interfaces(
    fields: &mut Fields,
    residue: &mut Metadata,
) -> Result<Vec<AgentInterface>, FieldError> {
    let url: String = fields.required("url")?;
    if url.is_empty() {
        return Err(FieldError::new("the agent's address", "an empty string").inside("url"));
    }
    let transport: Option<String> = fields.optional("preferredTransport")?;
    let version = read_version(fields, residue);
    let read = |interface| interface_to_v1(interface, &version);
    let mut others = fields
        .optional_by("additionalInterfaces", |others| list(others, read))?
        .unwrap_or_default();
    let main = AgentInterface {
        url,
        protocol_binding: transport.unwrap_or_else(|| DEFAULT_TRANSPORT.into()),
        tenant: None,
        protocol_version: version.clone(),
        extra: Metadata::new(),
    };
    // If it is repeated, then the repetition can hold what a bare `url` cannot.
    let is_main = |other: &AgentInterface| {
        other.url == main.url && other.protocol_binding == main.protocol_binding
    };
    let main = match others.iter().position(is_main) {
        Some(index) => others.remove(index),
        None => main,
    };
    let mut interfaces = Vec::from([main]);
    for other in others {
        if !interfaces.contains(&other) {
            interfaces.push(other);
        }
    }
    Ok(interfaces)
}

/// Major and minor; the whole is kept where it cannot be made from them.
fn read_version(fields: &mut Fields, residue: &mut Metadata) -> String {
    let whole = fields.text("protocolVersion").unwrap_or_default();
    let version = match whole.as_str() {
        "" => DEFAULT_VERSION.into(),
        whole => major_minor(whole),
    };
    if !whole.is_empty() && whole != with_patch(&version) {
        residue.insert("protocolVersion".into(), whole.into());
    }
    version
}

fn major_minor(version: &str) -> String {
    let numbers: Vec<&str> = version.split('.').take(2).collect();
    numbers.join(".")
}

/// 0.3 cards have three numbers.
fn with_patch(version: &str) -> String {
    format!("{version}.0")
}

fn interface_to_v1(value: Value, version: &str) -> Result<AgentInterface, FieldError> {
    const V1_NAMES: [&str; 3] = ["protocolBinding", "protocolVersion", "tenant"];
    let mut fields = Fields::of(value)?;
    let transport: Option<String> = fields.optional("transport")?;
    Ok(AgentInterface {
        url: fields.required("url")?,
        protocol_binding: transport.unwrap_or_else(|| DEFAULT_TRANSPORT.into()),
        tenant: fields.text("tenant"),
        protocol_version: version.to_string(),
        extra: object::extra(fields, &V1_NAMES, Metadata::new()),
    })
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
    let all: BTreeMap<String, Value> = fields.optional("securitySchemes")?;
    let mut schemes = BTreeMap::new();
    let mut unreadable = Metadata::new();
    for (name, scheme) in all {
        match security::scheme_to_v1(scheme.clone()) {
            Ok(scheme) => drop(schemes.insert(name, scheme)),
            Err(_) => drop(unreadable.insert(name, scheme)),
        }
    }
    residue.extend(object::residue_under("securitySchemes", unreadable));
    Ok(schemes)
}

fn read_requirements(fields: &mut Fields) -> Result<Vec<SecurityRequirement>, FieldError> {
    let read = |security| list(security, security::requirement_to_v1);
    Ok(fields.optional_by("security", read)?.unwrap_or_default())
}

fn skill_to_v1(value: Value) -> Result<AgentSkill, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(AgentSkill {
        id: fields.required("id")?,
        name: fields.optional("name")?,
        description: fields.optional("description")?,
        tags: fields.optional("tags")?,
        examples: fields.optional("examples")?,
        input_modes: fields.optional("inputModes")?,
        output_modes: fields.optional("outputModes")?,
        security_requirements: read_requirements(&mut fields)?,
        extra: object::extra(fields, &["securityRequirements"], Metadata::new()),
    })
}

/// Writes a card. Interfaces of another version than 0.3 are left out, unless there is no other. What a
/// card of 1.0 says to readers of 0.3 only, such as `security`, stands in its `extra` and is passed on.
pub fn from_v1(card: &AgentCard, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("name", card.name.as_str());
    object.put("description", card.description.as_str());
    write_interfaces(&mut object, card, losses);
    object.some("provider", card.provider.as_ref().map(to_value));
    object.put("version", card.version.as_str());
    object.some("documentationUrl", card.documentation_url.clone());
    object.put("capabilities", write_capabilities(card));
    object.some(
        "supportsAuthenticatedExtendedCard",
        card.capabilities.extended_agent_card,
    );
    write_security(&mut object, card, losses);
    object.put("defaultInputModes", card.default_input_modes.clone());
    object.put("defaultOutputModes", card.default_output_modes.clone());
    object.put("skills", losses.each("skills", &card.skills, skill_from_v1));
    let signatures: Vec<Value> = card.signatures.iter().map(to_value).collect();
    object.list("signatures", &signatures);
    object.some("iconUrl", card.icon_url.clone());
    object.finish(&card.extra, &["additionalInterfaces"], losses)
}

/// Whether somebody who speaks 0.3 can reach the agent here.
pub(crate) fn is_reachable(interface: &AgentInterface) -> bool {
    Version::of(&interface.protocol_version) == Some(Version::V0_3)
}

fn write_interfaces(object: &mut Object, card: &AgentCard, losses: &mut Losses) {
    let all = &card.supported_interfaces;
    let reachable = all.iter().find(|interface| is_reachable(interface));
    if reachable.is_none() {
        losses.add("supportedInterfaces", "none speaks 0.3; the first is named");
    }
    let Some(main) = reachable.or(all.first()) else {
        return object.put("url", "");
    };
    object.put("url", main.url.as_str());
    object.put("preferredTransport", main.protocol_binding.as_str());
    object.put("protocolVersion", write_version(card, main));
    let mut others = Vec::new();
    for (index, interface) in all.iter().enumerate() {
        let path = format!("supportedInterfaces[{index}]");
        if interface.protocol_version != main.protocol_version {
            losses.add(&path, "another version, so it was left out");
        } else if interface != main || needs_room(main) {
            others.push(losses.inside(&path, |losses| interface_from_v1(interface, losses)));
        }
    }
    object.list("additionalInterfaces", &others);
}

/// Whether an interface says more than a bare `url` can; then it is repeated in the list.
fn needs_room(interface: &AgentInterface) -> bool {
    let has_tenant = interface
        .tenant
        .as_ref()
        .is_some_and(|name| !name.is_empty());
    has_tenant || !interface.extra.is_empty()
}

fn write_version(card: &AgentCard, main: &AgentInterface) -> String {
    let whole = card
        .extra
        .get(RESIDUE)
        .and_then(|residue| residue.get("protocolVersion"));
    match whole.and_then(Value::as_str) {
        Some(whole) if major_minor(whole) == main.protocol_version => whole.into(),
        Some(_) | None => with_patch(&main.protocol_version),
    }
}

fn interface_from_v1(interface: &AgentInterface, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("url", interface.url.as_str());
    object.put("transport", interface.protocol_binding.as_str());
    object.skipped("tenant", interface.tenant.as_ref(), losses);
    object.finish(&interface.extra, &[], losses)
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
    object.some(
        "securitySchemes",
        Some(schemes).filter(|map| !map.is_empty()),
    );
    let requirements = losses.each(
        "securityRequirements",
        &card.security_requirements,
        security::requirement_from_v1,
    );
    object.list("security", &requirements);
}

fn skill_from_v1(skill: &AgentSkill, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("id", skill.id.as_str());
    object.put("name", skill.name.as_str());
    object.put("description", skill.description.as_str());
    object.put("tags", skill.tags.clone());
    object.list("examples", &skill.examples);
    object.list("inputModes", &skill.input_modes);
    object.list("outputModes", &skill.output_modes);
    let requirements = losses.each(
        "securityRequirements",
        &skill.security_requirements,
        security::requirement_from_v1,
    );
    object.list("security", &requirements);
    object.finish(&skill.extra, &[], losses)
}
