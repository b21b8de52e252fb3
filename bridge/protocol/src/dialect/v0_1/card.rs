//! Agent cards of 0.1 and of similar agents.
//!
//! By the specification a card has one `url` for JSON-RPC, and `authentication`. Other agents have `base_url` instead,
//! below which each method has its own path. Cards of python-a2a do so too; they claim 0.3 although its servers support
//! none of its methods.

use alloc::{format, string::String, vec::Vec};

use serde_json::Value;

use super::authentication;
use crate::{
    a2a::{AgentCard, AgentInterface, AgentProvider, AgentSkill, Binding, Metadata},
    dialect::{
        Losses, Version,
        card::PYTHON_FLAGS,
        object::{self, Object},
    },
    wire::{FieldError, Fields, Wire, to_value},
};

/// Returns whether each method of the agent has its own path, such as `{url}/tasks/send`. Such agents accept parameters
/// with or without a JSON-RPC envelope, and answer in the same form.
pub fn has_paths(card: &AgentCard) -> bool {
    card.extra.contains_key("base_url") || is_pythons(card)
}

/// Returns whether the agent is built with python-a2a, which has its own forms of messages.
pub fn is_pythons(card: &AgentCard) -> bool {
    let flags = &card.capabilities.extra;
    PYTHON_FLAGS.iter().any(|key| flags.contains_key(*key))
}

/// Reads a card. Only name and address are required.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<AgentCard, FieldError> {
    const V1_NAMES: [&str; 4] =
        ["supportedInterfaces", "securityRequirements", "securitySchemes", "signatures"];
    let mut fields = Fields::of(value)?;
    let (security_schemes, security_requirements) =
        authentication::to_v1(fields.get("authentication"));
    Ok(AgentCard {
        name: fields.required("name")?,
        description: fields.optional("description")?,
        supported_interfaces: [read_interface(&mut fields)?].into(),
        provider: fields.optional_by("provider", read_provider)?,
        version: fields.optional("version")?,
        documentation_url: fields.optional("documentationUrl")?,
        capabilities: fields.optional("capabilities")?,
        security_schemes,
        security_requirements,
        default_input_modes: fields.optional("defaultInputModes")?,
        default_output_modes: fields.optional("defaultOutputModes")?,
        skills: fields.list_by("skills", skill_to_v1)?,
        signatures: Vec::new(),
        icon_url: fields.optional("iconUrl")?,
        extra: object::V0_1.extra(fields, &V1_NAMES, Metadata::new()),
    })
}

/// Reads the address. A `base_url` also stays in `extra`, as the sign that methods have paths.
fn read_interface(fields: &mut Fields) -> Result<AgentInterface, FieldError> {
    let url: Option<String> = fields.optional("url")?;
    let base = fields.get("base_url").and_then(Value::as_str);
    let url = url.or_else(|| base.map(String::from));
    let url = url.ok_or_else(|| FieldError::new("a string", "nothing").inside("url"))?;
    if url.is_empty() {
        return Err(FieldError::new("the agent's address", "an empty string").inside("url"));
    }
    Ok(interface_at(url))
}

/// JSON-RPC is the only binding of 0.1.
fn interface_at(url: String) -> AgentInterface {
    AgentInterface::new(url, Binding::JsonRpc.as_str(), Version::V0_1.as_str())
}

/// Reads the provider, which in some cards is only a name.
fn read_provider(value: Value) -> Result<AgentProvider, FieldError> {
    match value {
        Value::String(organization) => {
            Ok(AgentProvider { organization, ..AgentProvider::default() })
        }
        other => Wire::read(other),
    }
}

fn skill_to_v1(value: Value) -> Result<AgentSkill, FieldError> {
    object::V0_1.skill_to_v1(value, |_| Ok(Vec::new()))
}

/// Writes a card with one address: that of 0.1, or else the first.
pub fn from_v1(card: &AgentCard, losses: &mut Losses) -> Value {
    const UNSIGNED: &str = "it signs the card of 1.0, so it was left out";
    let mut object = object::V0_1.object();
    object.put("name", card.name.as_str());
    object.put("description", card.description.as_str());
    write_url(&mut object, card, losses);
    object.some("provider", card.provider.as_ref().map(to_value));
    object.put("version", card.version.as_str());
    object.some("documentationUrl", card.documentation_url.clone());
    object.put("capabilities", write_capabilities(card, losses));
    object.some("authentication", authentication::from_v1(card, losses));
    object.put("defaultInputModes", card.default_input_modes.clone());
    object.put("defaultOutputModes", card.default_output_modes.clone());
    object.put("skills", losses.each("skills", &card.skills, skill_from_v1));
    for index in 0..card.signatures.len() {
        losses.add(&format!("signatures[{index}]"), UNSIGNED);
    }
    object.skipped("iconUrl", card.icon_url.as_deref(), losses);
    object.finish(&card.extra, &["authentication"], losses)
}

fn write_url(object: &mut Object, card: &AgentCard, losses: &mut Losses) {
    const NO_PLACE: &str = "0.1 has one address, so it was left out";
    const NO_MORE: &str = "0.1 has only the address of an interface";
    let all = &card.supported_interfaces;
    let speaks = |one: &AgentInterface| Version::of(&one.protocol_version) == Some(Version::V0_1);
    let main = all.iter().position(speaks);
    if main.is_none() {
        losses.add("supportedInterfaces", "no interface speaks 0.1; the first one is named");
    }
    let main = main.unwrap_or_default();
    for (index, interface) in all.iter().enumerate() {
        let path = format!("supportedInterfaces[{index}]");
        if index != main {
            losses.add(&path, NO_PLACE);
        } else if *interface != interface_at(interface.url.clone()) {
            losses.add(&path, NO_MORE);
        }
    }
    let url = all.get(main).map_or("", |interface| interface.url.as_str());
    object.put("url", url);
}

fn write_capabilities(card: &AgentCard, losses: &mut Losses) -> Value {
    let capabilities = &card.capabilities;
    for (key, is_lost) in [
        ("extensions", !capabilities.extensions.is_empty()),
        ("extendedAgentCard", capabilities.extended_agent_card.is_some()),
    ] {
        if is_lost {
            losses.add(&format!("capabilities.{key}"), object::V0_1.skipped);
        }
    }
    to_value(capabilities)
}

fn skill_from_v1(skill: &AgentSkill, losses: &mut Losses) -> Value {
    const NO_PLACE: &str = "0.1 has no requirements of skills, so they were left out";
    let object = object::V0_1.skill_from_v1(skill);
    if !skill.security_requirements.is_empty() {
        losses.add("securityRequirements", NO_PLACE);
    }
    object.finish(&skill.extra, &[], losses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_address_is_found_under_either_name() {
        for (card, url, paths) in [
            (json!({"name": "n", "url": "u"}), "u", false),
            (json!({"name": "n", "base_url": "b"}), "b", true),
            (json!({"name": "n", "url": "u", "base_url": "b"}), "u", true),
            (
                json!({"name": "n", "url": "u", "capabilities": {"parts_array_format": false}}),
                "u",
                true,
            ),
        ] {
            let card = to_v1(card).unwrap();
            assert_eq!(card.supported_interfaces[0].url, url);
            assert_eq!(has_paths(&card), paths, "{url}");
        }
    }

    #[test]
    fn what_0_1_cannot_express_is_reported() {
        let card = json!({
            "name": "n", "iconUrl": "i", "capabilities": {"extendedAgentCard": true},
            "supportedInterfaces": [
                {"url": "u", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
                {"url": "v", "protocolBinding": "JSONRPC", "protocolVersion": "0.1"},
            ],
            "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "k"}}},
            "signatures": [{"protected": "p", "signature": "s"}],
        });
        let card: AgentCard = Wire::read(card).unwrap();
        let mut losses = Losses::new();
        assert_eq!(from_v1(&card, &mut losses)["url"], "v");
        let paths: Vec<&str> = losses.iter().map(|loss| loss.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "supportedInterfaces[0]",
                "capabilities.extendedAgentCard",
                "securitySchemes",
                "signatures[0]",
                "iconUrl"
            ]
        );
    }
}
