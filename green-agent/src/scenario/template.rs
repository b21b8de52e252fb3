//! The scenario files that `green-agent new` writes.

/// What a new scenario file is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// Scripted turns, said by the built-in evaluator.
    Conversation,
    /// An environment that a participant works in, offered by the built-in evaluator.
    Episode,
    /// Steps that agents do who are found by skill, led by the built-in evaluator.
    Pipeline,
    /// A green agent and the participants it assesses, as in AgentBeats' tutorial.
    AgentBeats,
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 4] = [
        Self::Conversation,
        Self::Episode,
        Self::Pipeline,
        Self::AgentBeats,
    ];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Episode => "episode",
            Self::Pipeline => "pipeline",
            Self::AgentBeats => "agentbeats",
        }
    }

    /// The file's text: a scenario that can be read, with a comment for each key.
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
    use crate::scenario::{model::Green, tests::scenario_of};

    #[test]
    fn every_template_can_be_read() {
        for template in Template::ALL {
            let scenario = scenario_of(template.text());
            assert!(scenario.harness.declared, "{}", template.name());
            assert!(!scenario.harness.expect.is_empty(), "{}", template.name());
            let is_builtin = matches!(scenario.green, Green::Builtin(_));
            assert_eq!(is_builtin, template != Template::AgentBeats);
        }
    }
}
