//! The templates of the scenario files that `green-agent new` writes.

use clap::ValueEnum;

/// The kinds of new scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// A scripted conversation with one agent, checked by the built-in evaluator
    Conversation,
    /// An environment that a participant works in over MCP, offered by the built-in evaluator
    Episode,
    /// Steps that agents carry out, each found by skill, run by the built-in evaluator
    Pipeline,
    /// A green agent that assesses participants, in AgentBeats' form
    #[value(name = "agentbeats")]
    AgentBeats,
}

impl Template {
    /// Returns the file's text: a valid scenario, with a comment for each key.
    pub fn text(self) -> &'static str {
        match self {
            Self::Conversation => include_str!("template/conversation.toml"),
            Self::Episode => include_str!("template/episode.toml"),
            Self::Pipeline => include_str!("template/pipeline.toml"),
            Self::AgentBeats => include_str!("template/agentbeats.toml"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Green, tests::scenario_of};

    #[test]
    fn every_template_can_be_read() {
        for &template in Template::value_variants() {
            let scenario = scenario_of(template.text());
            assert!(scenario.harness.declared, "{template:?}");
            assert!(!scenario.harness.expect.is_empty(), "{template:?}");
            let is_builtin = matches!(scenario.green, Green::Builtin(_));
            assert_eq!(is_builtin, template != Template::AgentBeats);
        }
    }
}
