//! The templates of the scenario files that `green-agent new` writes.

/// The kinds of new scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// Scripted turns, sent by the built-in evaluator.
    Conversation,
    /// An environment in which a participant works, offered by the built-in evaluator.
    Episode,
    /// Steps that agents carry out, each found by skill, run by the built-in evaluator.
    Pipeline,
    /// A green agent and the participants that it assesses, as in AgentBeats' tutorial.
    AgentBeats,
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 4] =
        [Self::Conversation, Self::Episode, Self::Pipeline, Self::AgentBeats];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Episode => "episode",
            Self::Pipeline => "pipeline",
            Self::AgentBeats => "agentbeats",
        }
    }

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
        for template in Template::ALL {
            let scenario = scenario_of(template.text());
            assert!(scenario.harness.declared, "{}", template.name());
            assert!(!scenario.harness.expect.is_empty(), "{}", template.name());
            let is_builtin = matches!(scenario.green, Green::Builtin(_));
            assert_eq!(is_builtin, template != Template::AgentBeats);
        }
    }
}
