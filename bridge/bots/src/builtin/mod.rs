//! The agents that come with the bridge.
//!
//! - bots: [`bot::BUILTINS`]
//! - `conformance`: the agent for test kits

mod conformance;

use std::sync::Arc;

use crate::{
    agent::Agent,
    bot::{self, Bot},
};

/// The name and the purpose.
const CONFORMANCE: (&str, &str) =
    ("conformance", "answers as the official test kits for A2A expect");

/// A built-in agent.
pub enum Builtin {
    /// A bot, to be hosted.
    Bot(Arc<dyn Bot>),
    /// An agent, under the requested name.
    Agent(Box<Agent>),
}

/// Returns all built-in agents: name and purpose.
pub fn all() -> Vec<(&'static str, &'static str)> {
    bot::BUILTINS.into_iter().chain([CONFORMANCE]).collect()
}

/// Returns the names of all built-in agents.
pub fn names() -> Vec<&'static str> {
    all().into_iter().map(|(name, _)| name).collect()
}

/// Returns the built-in agent with this name, to be hosted as `agent`.
pub fn find(name: &str, agent: &str) -> Option<Builtin> {
    match name == CONFORMANCE.0 {
        true => Some(Builtin::Agent(Box::new(conformance::agent(agent)))),
        false => bot::builtin(name).map(Builtin::Bot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_somebodys() {
        for name in names() {
            assert!(find(name, name).is_some(), "{name}");
        }
        assert!(find("other", "other").is_none());
    }
}
