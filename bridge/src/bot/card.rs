//! The card of a bot that says nothing about itself.

use bridge_protocol::{
    a2a::{AgentCapabilities, AgentCard, AgentExtension, AgentSkill},
    translate::whole,
};

/// What kinds of content activities carry.
const MODES: [&str; 2] = ["text/plain", "application/json"];

/// A card with the agent's name, and without interfaces.
pub(super) fn plain(name: &str) -> AgentCard {
    let modes = MODES.map(String::from).to_vec();
    AgentCard {
        capabilities: AgentCapabilities {
            streaming: Some(true),
            extensions: vec![activities()],
            ..AgentCapabilities::default()
        },
        default_input_modes: modes.clone(),
        default_output_modes: modes,
        skills: vec![skill(
            "conversation",
            "Conversation",
            "Answers messages",
            &[],
        )],
        ..AgentCard::named(name, format!("{name}, an agent that answers messages"))
    }
}

/// Clients that know activities get them whole.
fn activities() -> AgentExtension {
    AgentExtension::new(
        whole::EXTENSION,
        "Carries activities whole, beside their parts",
    )
}

/// Something that an agent is good at, and what to say to see it.
pub(super) fn skill(id: &str, name: &str, description: &str, examples: &[&str]) -> AgentSkill {
    AgentSkill {
        tags: vec!["conversation".into()],
        examples: examples.iter().copied().map(String::from).collect(),
        ..AgentSkill::new(id, name, description)
    }
}
