//! Combines A2A agents: finds them by address, by skill and in registries, and has them work together.
//!
//! - [`agents`]: agents on the web that the operator allows, with cached cards
//! - [`pipeline`]: steps by skill, each carried out by an agent that is found when the step begins

pub mod agents;
pub mod pipeline;
