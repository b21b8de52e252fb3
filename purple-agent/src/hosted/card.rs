//! The card of an agent under evaluation.

use bridge_protocol::a2a::{AgentCapabilities, AgentCard, AgentExtension, AgentSkill};
use mcp_tools::acknowledge::ACKNOWLEDGE_EXTENSION;

/// Returns a card without interfaces, which the host adds.
pub(super) fn card(name: &str) -> AgentCard {
    let modes = ["text/plain", "application/json"].map(String::from).to_vec();
    let description = format!(
        "{name}, an agent under evaluation: tell it the task and how to reach the MCP server to work with"
    );
    AgentCard {
        capabilities: AgentCapabilities {
            streaming: Some(true),
            extensions: vec![acknowledges()],
            ..AgentCapabilities::default()
        },
        default_input_modes: modes.clone(),
        default_output_modes: modes,
        skills: vec![evaluation()],
        ..AgentCard::named(name, description)
    }
}

fn acknowledges() -> AgentExtension {
    AgentExtension::new(
        ACKNOWLEDGE_EXTENSION,
        "acknowledges messages that name this extension, in statuses of the task",
    )
}

fn evaluation() -> AgentSkill {
    AgentSkill {
        tags: vec!["evaluation".to_owned(), "mcp".to_owned()],
        ..AgentSkill::new(
            "evaluation",
            "Evaluation",
            "Connects to the MCP server that messages name, and works on the task there",
        )
    }
}
