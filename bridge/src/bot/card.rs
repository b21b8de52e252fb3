//! The card of a bot that says nothing about itself.

use bridge_protocol::{
    a2a::{AgentCapabilities, AgentCard, AgentExtension, AgentSkill, Metadata},
    translate::whole,
};

/// What kinds of content activities carry.
const MODES: [&str; 2] = ["text/plain", "application/json"];

/// A card with the agent's name, and without interfaces.
pub(super) fn plain(name: &str) -> AgentCard {
    let modes = MODES.map(String::from).to_vec();
    AgentCard {
        name: name.into(),
        description: format!("{name}, an agent that answers messages"),
        supported_interfaces: Vec::new(),
        provider: None,
        version: "1.0.0".into(),
        documentation_url: None,
        capabilities: AgentCapabilities {
            streaming: Some(true),
            extensions: vec![activities()],
            ..AgentCapabilities::default()
        },
        security_schemes: std::collections::BTreeMap::new(),
        security_requirements: Vec::new(),
        default_input_modes: modes.clone(),
        default_output_modes: modes,
        skills: vec![skill(
            "conversation",
            "Conversation",
            "Answers messages",
            &[],
        )],
        signatures: Vec::new(),
        icon_url: None,
        extra: Metadata::new(),
    }
}

/// Clients that know activities get them whole.
fn activities() -> AgentExtension {
    AgentExtension {
        uri: whole::EXTENSION.into(),
        description: Some("Carries activities whole, beside their parts".into()),
        required: false,
        params: None,
        extra: Metadata::new(),
    }
}

/// Something that an agent is good at, and what to say to see it.
pub(super) fn skill(id: &str, name: &str, description: &str, examples: &[&str]) -> AgentSkill {
    AgentSkill {
        id: id.into(),
        name: name.into(),
        description: description.into(),
        tags: vec!["conversation".into()],
        examples: examples.iter().copied().map(String::from).collect(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
        security_requirements: Vec::new(),
        extra: Metadata::new(),
    }
}
