//! The agent as an A2A server: evaluators send it messages, as AgentBeats' green agents do.

use bridge::agent::Agent;

use crate::agent::PurpleAgent;

impl PurpleAgent {
    /// The agent to be hosted under this name, with its card.
    pub fn into_agent(self, _name: &str) -> Agent {
        unimplemented!()
    }
}
