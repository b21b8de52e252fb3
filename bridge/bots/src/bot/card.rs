//! The default card of a bot.

use bridge_protocol::a2a::{AgentCapabilities, AgentCard, AgentExtension, AgentSkill};
use bridge_translate::full_activity;

/// The media types of most bots' answers.
const ANSWERED: [&str; 2] = ["text/plain", "application/json"];

/// The media types that activities can carry: text, JSON, and any other type as an attachment.
const TAKEN: [&str; 3] = ["text/plain", "application/json", "*/*"];

/// Returns a card with the agent's name and without interfaces.
pub(super) fn plain(name: &str) -> AgentCard {
    AgentCard {
        capabilities: AgentCapabilities {
            streaming: Some(true),
            extensions: vec![activities()],
            ..AgentCapabilities::default()
        },
        default_input_modes: TAKEN.map(String::from).to_vec(),
        default_output_modes: ANSWERED.map(String::from).to_vec(),
        skills: vec![skill("conversation", "Conversation", "Answers messages", &[])],
        ..AgentCard::named(name, format!("{name}, an agent that answers messages"))
    }
}

/// Returns the extension by which clients send and receive whole activities.
fn activities() -> AgentExtension {
    AgentExtension::new(full_activity::EXTENSION, "Carries the whole activity beside its parts")
}

/// Returns a skill with an example message.
pub(super) fn skill(id: &str, name: &str, description: &str, examples: &[&str]) -> AgentSkill {
    AgentSkill {
        tags: vec!["conversation".into()],
        examples: examples.iter().copied().map(String::from).collect(),
        ..AgentSkill::new(id, name, description)
    }
}
