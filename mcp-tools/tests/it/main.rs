//! The package as its users see it.

mod agent;
mod agent_tools;
mod connecting;
mod details;
mod evaluator;
mod examples;
mod served;
mod stranger;
