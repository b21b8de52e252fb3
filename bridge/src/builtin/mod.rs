//! The agents that come with the bridge, by their names.
//!
//! - [`bot::BUILTINS`]: those that are bots
//! - `conformance`: the one that test kits talk to

mod conformance;

use std::sync::Arc;

use crate::{
    agent::Agent,
    bot::{self, Bot},
};

/// Its name, and what it is for.
const CONFORMANCE: (&str, &str) = (
    "conformance",
    "answers as the official test kits for A2A expect",
);

/// An agent that comes with the bridge.
pub enum Builtin {
    /// A bot, to be hosted.
    Bot(Arc<dyn Bot>),
    /// An agent as it is, under the name that it was asked for.
    Agent(Box<Agent>),
}

/// All of them: their names, and what they are for.
pub fn all() -> Vec<(&'static str, &'static str)> {
    bot::BUILTINS.into_iter().chain([CONFORMANCE]).collect()
}

/// The names of all of them.
pub fn names() -> Vec<&'static str> {
    all().into_iter().map(|(name, _)| name).collect()
}

/// The one of this name, to be hosted as `agent`.
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
